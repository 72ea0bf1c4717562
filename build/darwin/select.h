/* Which of the two sets of MLX a Mac gets, by the release of its kernel: Darwin 25.2 is macOS 26.2, the first that the
 * newer set runs on. The kernel's release is asked for, not the system's name, since the latter is told differently to
 * programs built for older systems. What can't be read gets the older set, which runs everywhere. */
static int wants_newer(const char *release) {
  unsigned major = 0, minor = 0;
  const char *p = release;
  for (; *p >= '0' && *p <= '9' && major < 10000; p++)
    major = major * 10 + (unsigned)(*p - '0');
  if (p == release || *p != '.')
    return 0;
  for (p++; *p >= '0' && *p <= '9' && minor < 10000; p++)
    minor = minor * 10 + (unsigned)(*p - '0');
  return major > 25 || (major == 25 && minor >= 2);
}
