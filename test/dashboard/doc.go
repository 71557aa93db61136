// Package dashboard tests the pages of whole servers, as a browser sees them. A Visitor
// is a browser without a window: it keeps its cookie and follows nothing by itself.
package dashboard
