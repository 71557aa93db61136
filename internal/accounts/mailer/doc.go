// Package mailer sends mail over SMTP.
//
// A connection to another machine is encrypted, by smtps:// from its start and by
// smtp:// with STARTTLS, and a server that offers neither gets nothing. Only on the
// machine itself is it plain. Sending takes bounded time and is tried once: whoever
// sends knows best when to try again, and a temporary failure is distinguished from a permanent one.
package mailer
