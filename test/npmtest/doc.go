// Package npmtest installs npm packages for tests: once, into the user's cache folder,
// at the versions of a lock file. Where that isn't possible, the test is skipped and
// says why; with CI=true it fails.
package npmtest
