// Package uploads keeps large files that arrive in parts, until they are whole: a browser
// whose connection breaks goes on where it was. Each upload is a file and a small record
// beside it, in one folder. Parts stay for an hour after the last of them came, across a
// restart too, and count within the account's quota.
//
// Begin, Append until Received is Size, Open, and Remove once the content is stored.
package uploads
