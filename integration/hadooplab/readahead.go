package hadooplab

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"testing"
)

var bytesReadAhead = regexp.MustCompile(`(?m)^heddle_nm_warming_bytes_read_total (\S+)$`)

// ReadAhead returns how many bytes a lab's first NodeManager, which is Heddle's, has read of maps' input before they began.
func ReadAhead(t testing.TB, l *Lab) float64 {
	t.Helper()
	r, err := http.Get(fmt.Sprintf("http://localhost:%d/metrics", l.Port("nodemanager1-http")))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	m := bytesReadAhead.FindSubmatch(text)
	if m == nil {
		t.Fatal("no metric of what was read ahead")
	}
	n, err := strconv.ParseFloat(string(m[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
