package page

import (
	"bytes"
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"heddle/sim/whatif"
	"heddle/sim/whatif/play"
)

// Names of queues, users and applications are text, whatever bytes they have, and the page is well-formed.
func TestNamesAreText(t *testing.T) {
	const evil = "<script>alert(1)</script>\x00\x1b[2J\"'&\u202e"
	row := whatif.Row{Name: evil, Bars: whatif.Bars{Low: 1, High: 1}}
	r := &whatif.Report{
		Backtest: &whatif.Backtest{}, Queues: []whatif.Row{row}, Users: []whatif.Row{row}, Changes: []string{evil},
		Losers: []whatif.Loser{{Kind: "queue", Name: evil, Figure: "p90 wait", Before: 1, After: 2}},
		Apps:   []whatif.AppRow{{ID: evil, Queue: evil, Before: 1, After: 2}},
		Before: play.Series{Queues: []string{evil}, Bin: 1, MB: [][]float64{{1, 2}}},
		Record: whatif.Recorded{Notes: []string{evil}},
	}
	var b bytes.Buffer
	if err := Write(&b, r); err != nil {
		t.Fatal(err)
	}
	if s := b.String(); strings.Contains(s, "<script") || strings.ContainsAny(s, "\x00\x1b\u202e") {
		t.Error("a name isn't text")
	}
	d := xml.NewDecoder(&b)
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	for {
		if _, err := d.Token(); err == io.EOF {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
