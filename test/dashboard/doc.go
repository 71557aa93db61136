// Package dashboard tests the pages of a running service as a browser without scripts
// sees them: forms are posted, cookies are kept, redirects are looked at. Visitor in
// browser.go is that browser; each subject has a file of its own.
package dashboard
