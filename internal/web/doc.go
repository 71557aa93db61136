// Package web is what the HTTP front ends share: errors to statuses, bounded
// bodies, CORS headers, and a listener that no slow or greedy peer can hold.
package web
