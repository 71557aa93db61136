// Package upstream holds what calls remote nodes: pool picks a node for each call, retries
// and follows heads; client keeps the connections to one node; doctor checks a node before
// it is used. Start reading at pool.
package upstream
