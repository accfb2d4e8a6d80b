// Package lists serves long lists a page at a time: the server filters, sorts and cuts them. A page is found in one pass over the ledger that keeps
// only the page's own rows, so that neither its time nor its memory grows with what isn't shown.
//
// A cursor names the row at a page's edge by what it is sorted by, and by its id. So rows that come and go meanwhile make the next page neither repeat nor
// leave out others.
package lists
