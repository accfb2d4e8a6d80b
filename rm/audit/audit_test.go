package audit

import (
	"net/netip"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"heddle/yarn/records"
)

// parse reads a recorded line.
func parse(t *testing.T, text string) (e Entry) {
	t.Helper()
	var failure Failure
	failed := false
	for pair := range strings.SplitSeq(text, "\t") {
		key, value, _ := strings.Cut(pair, "=")
		var err error
		switch key {
		case "USER":
			e.User = value
		case "IP":
			e.Address, err = netip.ParseAddr(value)
		case "OPERATION":
			e.Operation = Operation(value)
		case "TARGET":
			e.Target = value
		case "RESULT":
			failed = value == "FAILURE"
		case "DESCRIPTION":
			failure.Description = value
		case "PERMISSIONS":
			failure.Permissions = value
		case "APPID":
			e.App, err = records.ParseApplicationID(value)
		case "APPATTEMPTID":
			e.Attempt, err = records.ParseAttemptID(value)
		case "CONTAINERID":
			e.Container, err = records.ParseContainerID(value)
		case "CALLERCONTEXT":
			e.Context = value
		case "QUEUENAME":
			e.Submitted, e.Queue = true, value
		case "NODELABEL":
			e.Label = value
		default:
			t.Fatalf("%s: what is %s?", text, key)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if failed {
		e.Failed = &failure
	}
	return e
}

// testdata/stock.log is what a ResourceManager of Hadoop 3.4.2 wrote.
func TestLinesAreThoseOfYARN(t *testing.T) {
	recorded, err := os.ReadFile("testdata/stock.log")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.SplitSeq(strings.TrimSuffix(string(recorded), "\n"), "\n") {
		_, want, ok := strings.Cut(line, " resourcemanager.RMAuditLogger: ")
		if !ok {
			t.Fatalf("%q is no recorded line", line)
		}
		e := parse(t, want)
		if got := e.String(); got != want {
			t.Errorf("got\n%s, want\n%s", got, want)
		}
		n++
	}
	if n < 20 {
		t.Errorf("only %d lines were recorded", n)
	}
}

// A tab or the end of a line in a name or a diagnostic would forge pairs and lines, as it does in YARN's own log.
func TestNobodyForgesPairsOrLines(t *testing.T) {
	e := Entry{
		User: "eve\tRESULT=SUCCESS", Operation: Kill, Target: Clients, Context: "x\nUSER=root\tOPERATION=refreshQueues",
		Failed: &Failure{"d\r\n", "p\u2028q\xff" + strings.Repeat("z", 3*maxValue)}, Submitted: true, Queue: "q\u202e", Label: "l\x00",
	}
	got := e.String()
	if strings.ContainsAny(got, "\n\r\x00\u2028\u202e") || !utf8.ValidString(got) || strings.Count(got, "\t") != 8 || len(got) > 2*maxValue {
		t.Errorf("%.300q", got)
	}
}
