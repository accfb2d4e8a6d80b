package load

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// log is a record: a header at a time, and lines. Each line is JSON without its braces; steps are "step T".
func log(at int64, lines ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"heddle-events":8,"heddle":"test","time":%d,"queues":{"keys":{"yarn.resourcemanager.scheduler.class":"fifo"}},"minimum":[1024,1]}`+"\n", at)
	for _, l := range lines {
		if t, ok := strings.CutPrefix(l, "step "); ok {
			t, decisions, _ := strings.Cut(t, " ")
			l = fmt.Sprintf(`"op":"step","t":%s`, t)
			if decisions != "" {
				l += `,"decisions":[` + decisions + `]`
			}
		}
		b.WriteString("{" + l + "}\n")
	}
	return b.String()
}

const (
	addNode = `"op":"addNode","host":"h1","rack":"/r","resource":[8192,8]`
	addApp  = `"op":"addApp","name":"application_1_0001","queue":"root.default","user":"ann","type":"MAPREDUCE","resource":[1024,1]`
	askAM   = `"op":"updateAsks","asks":[{"name":"*","resource":[1024,1],"count":1,"relax":true}]`
	amIs    = `{"kind":"allocate","resource":[1024,1],"locality":2}`
)

func grant(c, priority int) string {
	return fmt.Sprintf(`{"kind":"allocate","container":%d,"resource":[1024,1],"priority":%d,"locality":2}`, c, priority)
}

func asks(priority, count int) string {
	return fmt.Sprintf(`"op":"updateAsks","asks":[{"priority":%d,"name":"*","resource":[1024,1],"count":%d,"relax":true}]`, priority, count)
}

func free(c int, more ...string) string {
	return strings.Join(append([]string{fmt.Sprintf(`"op":"free","container":%d`, c)}, more...), ",")
}

func read(t *testing.T, texts ...string) (*Load, error) {
	t.Helper()
	dir := t.TempDir()
	for i, text := range texts {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("events", i)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Open(dir, Options{})
}

func mustRead(t *testing.T, texts ...string) *Load {
	t.Helper()
	l, err := read(t, texts...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// job is a MapReduce job of two maps and a reduce that begins before the second map ends.
var job = []string{
	addNode, addApp, askAM, "step 1000 " + amIs, `"op":"identify","attempt":1,"first":1,"am":true,"containers":[0]`,
	asks(20, 2), "step 4000 " + grant(1, 20) + "," + grant(2, 20), `"op":"identify","attempt":1,"first":2,"containers":[1,2]`,
	free(1), "step 10000", asks(10, 1), "step 11000 " + grant(3, 10),
	free(2), "step 20000", free(3), "step 25000", free(0), `"op":"clearAsks"`, `"op":"removeApp"`, "step 27000",
}

// Requests follow completions, and reduces the last map.
func TestWhatFollowsWhat(t *testing.T) {
	l := mustRead(t, log(1000, job...))
	if len(l.Apps) != 1 || len(l.Apps[0].Attempts) != 1 || l.Nodes != 1 {
		t.Fatalf("%+v", l)
	}
	a := &l.Apps[0]
	at := &a.Attempts[0]
	if len(at.Asks) != 2 || at.Asks[0].Ended != 0 || at.Asks[0].Delay != 3000 || at.Asks[1].Ended != 1 || at.Asks[1].Delay != 1000 {
		t.Errorf("asks: %+v", at.Asks)
	}
	if at.Maps != 2 || at.Ends != 3 || at.Tail != 2000 || at.Held != 0 || at.Fixed != -1 {
		t.Errorf("%+v", at)
	}
	if r := at.Kinds[1]; !r.Reduce || len(r.Lives) != 1 || r.Lives[0].MS != 14000 || r.Lives[0].Post != 5000 {
		t.Errorf("reduces: %+v", r)
	}
	if a.Then.End != 27000 || a.Then.Containers != 4 || fmt.Sprint(a.Then.Waits) != "[0 0 0 0]" || a.User != "ann" {
		t.Errorf("%+v", a.Then)
	}
}

// Preempted containers, and the requests that follow them, aren't part of the load.
func TestWhatPreemptionDidIsLeftOut(t *testing.T) {
	l := mustRead(t, log(1000,
		addNode, addApp, askAM, "step 1000 "+amIs, asks(20, 1), "step 2000 "+grant(1, 20),
		`"op":"step","t":5000,"decisions":[{"kind":"kill","container":1}]`, free(1), "step 5000", asks(20, 1), "step 6500 "+grant(1, 20),
		free(1), "step 16500", free(0), `"op":"removeApp"`, "step 17000"))
	a := &l.Apps[0]
	at := &a.Attempts[0]
	if len(at.Asks) != 1 || len(at.Kinds[0].Lives) != 1 || at.Kinds[0].Lives[0].MS != 10000 || at.Ends != 1 {
		t.Errorf("%+v", at)
	}
	if a.Then.Preempted != 1 || a.Then.LostMS != 3000 || l.Reask != 1500 {
		t.Errorf("%+v, asked again after %d ms", a.Then, l.Reask)
	}
}

// The time for which a container is suspended isn't its own.
func TestSuspendedTimeIsLeftOut(t *testing.T) {
	l := mustRead(t, log(1000,
		addNode, addApp, askAM, "step 1000 "+amIs, asks(20, 1), "step 2000 "+grant(1, 20),
		`"op":"step","t":5000,"decisions":[{"kind":"suspend","container":1}]`, `"op":"step","t":9000,"decisions":[{"kind":"resume","container":1}]`,
		free(1), "step 12000", free(0), `"op":"removeApp"`, "step 13000"))
	a := &l.Apps[0]
	if ms := a.Attempts[0].Kinds[0].Lives[0].MS; ms != 6000 || a.Then.SuspendMS != 4000 || a.Then.Suspended != 1 {
		t.Errorf("ran %d ms; %+v", ms, a.Then)
	}
}

// A second leader continues with what the first one had.
func TestTwoLeadersAreJoined(t *testing.T) {
	second := log(22000,
		`"op":"addNode","node":7,"host":"h1","rack":"/r","resource":[8192,8]`,
		strings.Replace(addApp, `"op":"addApp"`, `"op":"addApp","app":5`, 1),
		`"op":"restore","app":5,"node":7,"container":9,"resource":[1024,1],"attempt":1,"first":1,"am":true,"since":1000`,
		`"op":"restore","app":5,"node":7,"container":4,"resource":[1024,1],"attempt":1,"first":4,"priority":10,"since":11000`,
		"step 22001", free(4), "step 25000", free(9), `"op":"clearAsks","app":5`, `"op":"removeApp","app":5`, "step 27000",
		`"op":"addApp","app":6,"name":"application_1_0002","queue":"root.default","user":"bob","resource":[1024,1]`, "step 80000")
	first := append(append([]string{}, job[:12]...), `"op":"identify","attempt":1,"first":4,"containers":[3]`, free(2), "step 20000", "step 21500")
	l := mustRead(t, second, log(1000, first...)) // in the order of names the second comes first
	a := &l.Apps[0]
	if len(l.Pauses) != 1 || l.Pauses[0] != (Pause{21500, 22001}) {
		t.Errorf("pauses %+v", l.Pauses)
	}
	if l.Sessions != 2 || len(l.Apps) != 2 || l.Nodes != 1 || len(l.Events) != 1 {
		t.Fatalf("%d sessions, %d applications, %d nodes, %+v", l.Sessions, len(l.Apps), l.Nodes, l.Events)
	}
	if a.Then.End != 27000 || a.Cut || len(a.Attempts) != 1 || a.Attempts[0].Kinds[1].Lives[0].MS != 14000 || a.Then.Containers != 4 {
		t.Errorf("%+v", a)
	}
}

// What isn't one record of one cluster is refused, with the file and the line.
func TestBadRecordsAreRefused(t *testing.T) {
	whole := log(1000, job...)
	for name, c := range map[string]struct {
		texts []string
		want  string
	}{
		"nothing":           {[]string{""}, "no record"},
		"no record":         {[]string{"hello\n"}, "line 1"},
		"a later version":   {[]string{strings.Replace(whole, `events":8`, `events":99`, 1)}, "format is 99"},
		"an old version":    {[]string{strings.Replace(whole, `events":8`, `events":1`, 1)}, "format 1"},
		"a gap":             {[]string{whole, log(900_000, addNode, "step 900001")}, "nothing is recorded between"},
		"the same twice":    {[]string{whole, whole}, "two clusters"},
		"two at once":       {[]string{whole, log(2000, addNode, "step 12000")}, "two clusters"},
		"no such node":      {[]string{log(1, `"op":"removeNode","node":3`, "step 5")}, "line 2"},
		"no such app":       {[]string{log(1, "step 5 "+amIs)}, "line 2"},
		"no such thing":     {[]string{log(1, addNode, "step 3", free(8), "step 5")}, "line 4"},
		"what isn't JSON":   {[]string{whole + "{\"op\":\n"}, "line 22"},
		"amounts too big":   {[]string{log(1, `"op":"addNode","host":"h","resource":[9223372036854775807]`, "step 5")}, "out of range"},
		"a broken header":   {[]string{`{"heddle-events":8,"time":"x"}` + "\n"}, "line 1"},
		"a time that isn't": {[]string{log(1, addNode, "step 9000000000000000000")}, "line 3: 9000000000000000000 isn't a time"},
		"a time before all": {[]string{log(-5, addNode, "step 5")}, "line 1: -5 isn't a time"},
		"queues that fail":  {[]string{strings.Replace(whole, `"fifo"`, `"lifo"`, 1)}, "lifo"},
	} {
		if _, err := read(t, c.texts...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none"), Options{}); err == nil {
		t.Error("a file that isn't there is read")
	}
}

// A clock that steps back during a record stands still until the time is reached again, and no time is negative.
func TestClocksThatStepBack(t *testing.T) {
	l := mustRead(t, log(5_000_000,
		addNode, addApp, askAM, "step 5001000 "+amIs, asks(20, 2), "step 5004000 "+grant(1, 20)+","+grant(2, 20), free(1), "step 1000", asks(10, 1), "step 2000 "+grant(3, 10),
		free(2), "step 5020000", free(3), "step 5025000", free(0), `"op":"removeApp"`, "step 5027000"))
	a := &l.Apps[0]
	if l.Begin != 5_000_000 || l.End != 5_027_000 || a.Then.End != 5_027_000 {
		t.Errorf("from %d to %d: %+v", l.Begin, l.End, a.Then)
	}
	for _, k := range a.Attempts[0].Kinds {
		for _, x := range k.Lives {
			if x.MS < 0 || x.MS > 21_000 {
				t.Errorf("a container ran for %d ms", x.MS)
			}
		}
	}
}

// A gap is admitted by those who know of it.
func TestGapsAreAdmittedOnRequest(t *testing.T) {
	dir := t.TempDir()
	for i, text := range []string{log(1000, job...), log(900_000, addNode, "step 900001")} {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if l, err := Open(dir, Options{Gaps: true}); err != nil || l.Sessions != 2 || l.End != 900_001 {
		t.Errorf("%v", err)
	}
}

// A gap that the recorder has named itself is named again, and refused if it is long.
func TestGapsThatTheRecorderNames(t *testing.T) {
	named := func(at int64) string {
		return strings.Replace(log(at, addNode, "step "+fmt.Sprint(at+1)), `"minimum"`, `"continues":true,"gap":{"from":27500,"events":12,"why":"the disk is too slow"},"minimum"`, 1)
	}
	l := mustRead(t, log(1000, job...), named(50_000))
	if len(l.Notes) != 1 || !strings.Contains(l.Notes[0], "between 1970-01-01T00:00:27.500Z and 1970-01-01T00:00:50.000Z 12 events or more are not on record (the disk is too slow)") {
		t.Errorf("%q", l.Notes)
	}
	if _, err := read(t, log(1000, job...), named(900_000)); err == nil || !strings.Contains(err.Error(), "12 events or more") || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("%v", err)
	}
}

// A record may be cut off anywhere: what is whole counts.
func TestRecordsMayBeCutOffAnywhere(t *testing.T) {
	whole := log(1000, job...)
	for n := 0; n < len(whole); n += 17 {
		l, err := read(t, whole[:n])
		if n <= strings.IndexByte(whole, '\n') {
			if err == nil {
				t.Errorf("%d bytes are a record", n)
			}
			continue
		}
		if err != nil {
			t.Errorf("cut off after %d bytes: %v", n, err)
		} else if torn := whole[n-1] != '\n'; torn != (len(l.Torn) == 1) {
			t.Errorf("cut off after %d bytes: torn %v", n, l.Torn)
		}
	}
}

// Packed records are read as others.
func TestPackedRecords(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(log(1000, job...))); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if l := mustRead(t, b.String()); l.Apps[0].Then.End != 27000 {
		t.Errorf("%+v", l.Apps)
	}
	if _, err := read(t, b.String()[:b.Len()-12]); err == nil {
		t.Error("half a packed record is read")
	}
}

// Names may have any bytes.
func TestNamesOfAnyBytes(t *testing.T) {
	text := strings.NewReplacer("root.default", `root.\u0000\u2028ü`, `"ann"`, "\"\xff\xfe\"").Replace(log(1000, job...))
	l := mustRead(t, text)
	if l.Apps[0].Queue != "root.\x00\u2028ü" || l.Apps[0].User == "" {
		t.Errorf("%q %q", l.Apps[0].Queue, l.Apps[0].User)
	}
}

// FuzzRecord: no bytes make the reader panic.
func FuzzRecord(f *testing.F) {
	whole := log(1000, job...)
	f.Add([]byte(whole))
	f.Add([]byte(whole + log(30000, job...)))
	f.Fuzz(func(t *testing.T, text []byte) {
		sessions, err := scan(bytes.NewReader(text))
		if err != nil {
			return
		}
		b := newBuilder()
		for i := range sessions {
			s := &sessions[i]
			if b.read(bytes.NewReader(text[s.skip:s.skip+s.size]), s) != nil {
				return
			}
		}
		if _, err := b.finish(); err == nil && b.load.End < b.load.Begin {
			t.Errorf("the load ends at %d, and begins at %d", b.load.End, b.load.Begin)
		}
	})
}

// A file of many sessions is read once, not from its beginning for each of them.
func TestManySessionsOfAFile(t *testing.T) {
	const n = 200
	var text strings.Builder
	text.WriteString(log(0, addNode, "step 1"))
	for i := 1; i < n; i++ {
		text.WriteString(log(int64(1000*i), addNode, strings.Replace(addNode, `"h1"`, fmt.Sprintf("%q", strings.Repeat("h", 2000)), 1), "step "+fmt.Sprint(1000*i+1)))
	}
	file := filepath.Join(t.TempDir(), "events.log")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	sessions, err := scanFile(file)
	if err != nil || len(sessions) != n {
		t.Fatalf("%d sessions, %v", len(sessions), err)
	}
	b, p := newBuilder(), spot{}
	defer p.close()
	var first io.Closer
	for i := range sessions {
		if err := b.readSession(&p, &sessions[i]); err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = p.f
		}
		if p.f != first || p.at != sessions[i].skip+sessions[i].size {
			t.Fatalf("session %d: the file is at %d, or was opened again", i, p.at)
		}
	}
	if l, err := b.finish(); err != nil || l.Sessions != n {
		t.Errorf("%v", err)
	}
}
