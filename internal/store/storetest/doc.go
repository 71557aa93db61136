// Package storetest holds every sentence of the domain's store interfaces as a test. A store
// passes when Run does, on whatever database it stands: call it from the store's
// own tests with a function that opens an empty one.
package storetest
