// Package record has the records of package storage that clients get as they are stored. Package
// control sends them, and package storage keeps them, so neither repeats their fields. Their JSON
// names are the names of the columns.
package record
