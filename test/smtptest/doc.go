// Package smtptest is a small mail server for tests: it speaks SMTP over real
// connections, keeps the letters that it gets, and refuses what a test tells it to.
package smtptest
