// Package upstream holds what calls remote nodes: pool picks a node for each call and
// retries; heads follows the chain's head over all nodes; feed makes the events of
// subscriptions; client keeps the connections to one node; doctor checks a node before it
// is used; hexjson reads hex values in JSON. Start reading at pool.
package upstream
