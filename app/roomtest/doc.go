// Package roomtest opens the rooms that a room's tests stand on: home folder, database, MLX thread,
// settings and pool. Tests of library and history call it. Package pool cannot, since its tests are
// inside the package.
package roomtest
