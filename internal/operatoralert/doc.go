// Package operatoralert reports problems of the service to operators, by webhook and mail: a
// node is down, the disk is low, the account store can't be reached. It reports each problem once,
// and its end once, from one of several servers. It never delays a request.
package operatoralert
