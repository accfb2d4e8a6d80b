package rest

import "net/http"

// Abort ends an answer that can't be completed, and doesn't return: the client gets what was written so far and sees that the rest is missing. An answer
// without Content-Length would end as if it were whole otherwise. Only handlers call it, on their own goroutine.
func Abort(w http.ResponseWriter) {
	_ = http.NewResponseController(w).Flush() // the connection ends either way
	panic(http.ErrAbortHandler)
}
