package limit

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/ledger/ledgertest"
)

func TestCommandsWithBytesThatAreNoUTF8CanBeEncoded(t *testing.T) {
	for _, c := range ledgertest.EveryCommand("caf\xe9 \xff") {
		Clean(c)
		if _, err := proto.Marshal(c); err != nil {
			t.Errorf("%T: %v", c, err)
		}
	}
}

func TestCommandsWithLongStringsStaySmall(t *testing.T) {
	for _, c := range ledgertest.EveryCommand(strings.Repeat("ü", MaxText)) {
		if c.QueuesConfigured != nil {
			continue // an administrator's, as large as they like
		}
		Clean(c)
		if n := proto.Size(c); n > 3*MaxText {
			t.Errorf("%d bytes of %.100v", n, c)
		}
	}
}

func TestSizeBoundHolds(t *testing.T) {
	for _, text := range []string{"", "host", strings.Repeat("x", 300)} {
		for _, c := range ledgertest.EveryCommand(text) {
			if n := proto.Size(&ledgerpb.Batch{Commands: []*ledgerpb.Command{c}}); n > SizeBound(c) {
				t.Errorf("bound %d, size %d of %v", SizeBound(c), n, c)
			}
		}
	}
}

func TestTextsAreCutBetweenCharacters(t *testing.T) {
	for limit := 10; limit < 20; limit++ {
		head, tail := Head(strings.Repeat("日本", 10), limit), Tail(strings.Repeat("日本", 10), limit)
		for _, s := range []string{head, tail} {
			if len(s) > limit || len(s) < limit-4 || !utf8.ValidString(s) || strings.ContainsRune(s, utf8.RuneError) {
				t.Errorf("cut to %d: %q", limit, s)
			}
		}
	}
	if got := Tail("caf\xe9", 100); got != "caf\uFFFD" {
		t.Errorf("%q", got)
	}
}

// limits are those of all strings that a command may hold, but for an administrator's settings of queues and YARN's own messages.
var limits = map[protoreflect.FullName]int{
	"heddle.ledger.NodeRef.host":                   MaxName,
	"heddle.ledger.Grant.tags":                     MaxName,
	"heddle.ledger.Completion.diagnostics":         MaxText,
	"heddle.ledger.NodeRegistered.rack":            MaxName,
	"heddle.ledger.NodeRegistered.version":         MaxName,
	"heddle.ledger.NodeRegistered.features":        MaxName,
	"heddle.ledger.NodeRegistered.missing":         MaxName,
	"heddle.ledger.NodeUpdated.health_report":      MaxText,
	"heddle.ledger.LeaderStarted.rm_id":            MaxName,
	"heddle.ledger.LeadershipOffered.rm_id":        MaxName,
	"heddle.ledger.LedgerVersionRaised.release":    MaxName,
	"heddle.ledger.ApplicationIdIssued.user":       MaxName,
	"heddle.ledger.ApplicationSubmitted.user":      MaxName,
	"heddle.ledger.ApplicationSubmitted.queue":     MaxName,
	"heddle.ledger.ApplicationUpdated.queue":       MaxName,
	"heddle.ledger.ApplicationUpdated.diagnostics": MaxText,
	"heddle.ledger.ApplicationEnded.diagnostics":   MaxText,
	"heddle.ledger.AttemptRegistered.host":         MaxName,
	"heddle.ledger.AttemptRegistered.tracking_url": MaxURL,
	"heddle.ledger.AttemptFinishing.diagnostics":   MaxText,
	"heddle.ledger.AttemptFinishing.tracking_url":  MaxURL,
	"heddle.ledger.AttemptEnded.diagnostics":       MaxText,
	"heddle.ledger.SuspensionCause.queue":          MaxName,
	"heddle.ledger.SuspensionCause.user":           MaxName,
	"heddle.ledger.NodeLabelsChanged.removed":      MaxLabel,
	"heddle.ledger.QueuesChanged.deleted":          MaxName,
	"heddle.ledger.CreatedQueue.path":              MaxName,
	"heddle.ledger.CreatedQueue.user":              MaxName,
	"heddle.ledger.NodeLabel.name":                 MaxLabel,
	"heddle.ledger.LabelledNode.label":             MaxLabel,
	"heddle.ledger.UsageRow.name":                  MaxName,
	"heddle.ledger.HostAttributes.host":            MaxName,
	"heddle.ledger.NodeAttribute.name":             MaxLabel,
	"heddle.ledger.NodeAttribute.value":            MaxLabel,
	"heddle.ledger.CourseWait.limit":               MaxName,
}

// stringsIn calls f with every string in a message and in the ledger's own that are in it.
func stringsIn(m protoreflect.Message, f func(field protoreflect.FullName, text string)) {
	ledgertest.Messages(m, func(m protoreflect.Message) {
		m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
			switch {
			case fd.Kind() != protoreflect.StringKind:
			case fd.IsList():
				for i := range v.List().Len() {
					f(fd.FullName(), v.List().Get(i).String())
				}
			default:
				f(fd.FullName(), v.String())
			}
			return true
		})
	})
}

func TestStringsAreCutToTheirLimits(t *testing.T) {
	long := strings.Repeat("x", 2*MaxText)
	for _, c := range ledgertest.EveryCommand(long) {
		if c.QueuesConfigured != nil {
			continue
		}
		Clean(c)
		stringsIn(c.ProtoReflect(), func(field protoreflect.FullName, text string) {
			if limit, ok := limits[field]; !ok || len(text) != limit {
				t.Errorf("%s: %d bytes, to be %d", field, len(text), limit)
			}
		})
	}
	for field, limit := range limits {
		text := long[:limit]
		for _, c := range ledgertest.EveryCommand("x") {
			ledgertest.Messages(c.ProtoReflect(), func(m protoreflect.Message) {
				fd := m.Descriptor().Fields().ByName(field.Name())
				if fd == nil || fd.FullName() != field {
					return
				}
				if fd.IsList() {
					m.Mutable(fd).List().Set(0, protoreflect.ValueOfString(text))
				} else {
					m.Set(fd, protoreflect.ValueOfString(text))
				}
			})
			Clean(c)
			stringsIn(c.ProtoReflect(), func(name protoreflect.FullName, got string) {
				if name == field && got != text {
					t.Errorf("%s has as many bytes as it may, and is changed: %d", field, len(got))
				}
			})
		}
	}
}

func TestHeadAndTail(t *testing.T) {
	bytes := strings.Repeat("a", 30) + strings.Repeat("\x80", 10) + "bcdefg"
	for _, c := range []struct {
		text       string
		limit      int
		head, tail string
	}{
		{"abcdefghij", 8, "abcdefgh", "… ghij"},
		{"abcdefghij", 9, "abcdefghi", "… fghij"},
		{"abcdefghij", 10, "abcdefghij", "abcdefghij"},
		{"ab日本cdefg", 8, "ab日本", "… defg"},
		{"ab日本cdefg", 9, "ab日本c", "… cdefg"},
		{"ab日本cdefg", 10, "ab日本cd", "… cdefg"},
		{"abcdefg日本", 9, "abcdefg", "… 本"},
		{strings.Repeat("\xffa", 30), 20, strings.Repeat("\uFFFDa", 5), "… " + strings.Repeat("\uFFFDa", 4)},
		// Bytes that are no characters, of which there are more than a character has, are cut between any two.
		{bytes, 16, strings.Repeat("a", 16), "… \uFFFDbcdefg"},
		{bytes, 14, strings.Repeat("a", 14), "… \uFFFDbcdefg"},
		{bytes, 13, strings.Repeat("a", 13), "… bcdefg"},
	} {
		if head, tail := Head(c.text, c.limit), Tail(c.text, c.limit); head != c.head || tail != c.tail {
			t.Errorf("%q cut to %d: %q and %q, to be %q and %q", c.text, c.limit, head, tail, c.head, c.tail)
		}
	}
}

func TestNames(t *testing.T) {
	long := strings.Repeat("x", MaxName)
	for name, want := range map[string]bool{"": false, "a": true, "日本": true, "a\xff": false, long: true, long + "x": false} {
		if IsName(name) != want {
			t.Errorf("%.20q of %d bytes: %v", name, len(name), !want)
		}
	}
}

// The form of a node's id that is good is left as it is: others read it meanwhile.
func TestReferencesToNodesAreSharedWhileTheyAreGood(t *testing.T) {
	good := &ledgerpb.NodeRef{Host: strings.Repeat("h", MaxName), Port: 7}
	if cleanNode(good) != good {
		t.Error("it was copied")
	}
	for _, bad := range []*ledgerpb.NodeRef{{Host: strings.Repeat("h", MaxName+1), Port: 7}, {Host: "h\xff", Port: 7}} {
		before := bad.GetHost()
		if got := cleanNode(bad); got == bad || bad.GetHost() != before || got.GetPort() != 7 || got.GetHost() != Head(before, MaxName) {
			t.Errorf("%v", got)
		}
	}
}

func TestNodesHaveAFewFeatures(t *testing.T) {
	for n, want := range map[int]int{0: 0, maxNames: maxNames, maxNames + 1: maxNames} {
		r := &ledgerpb.NodeRegistered{Features: slices.Repeat([]string{"f"}, n), Missing: slices.Repeat([]string{"m"}, n)}
		Clean(&ledgerpb.Command{NodeRegistered: r})
		if len(r.GetFeatures()) != want || len(r.GetMissing()) != want || want > 0 && r.GetFeatures()[want-1] != "f" {
			t.Errorf("of %d are %d and %d left", n, len(r.GetFeatures()), len(r.GetMissing()))
		}
	}
}

func TestSettingsOfQueuesBecomeUTF8(t *testing.T) {
	m := map[string]string{"good": "日", "key\xff": "a", "value": "\xff"}
	Clean(&ledgerpb.Command{QueuesConfigured: &ledgerpb.QueuesConfigured{Settings: m}})
	if want := map[string]string{"good": "日", "key\uFFFD": "a", "value": "\uFFFD"}; !maps.Equal(m, want) {
		t.Errorf("%q", m)
	}
	Clean(&ledgerpb.Command{ApplicationUpdated: &ledgerpb.ApplicationUpdated{}}) // of which nothing is set
}

// The bound grows with each of the things that come by the thousand.
func TestSizeBoundHoldsForThousands(t *testing.T) {
	ref := &ledgerpb.ContainerRef{
		Attempt: &ledgerpb.AttemptRef{App: &ledgerpb.AppRef{Timestamp: -1, Id: -1}, Attempt: -1}, Id: -1,
	}
	grant := &ledgerpb.Grant{
		Id: -1, Node: &ledgerpb.NodeRef{Host: strings.Repeat("h", MaxName), Port: -1}, Resource: &ledgerpb.Amounts{Amount: slices.Repeat([]int64{-1}, 8)},
		Priority: -1, AllocationRequestId: -1, ExecutionType: -1, Am: true, Tags: slices.Repeat([]string{strings.Repeat("t", MaxName)}, 3), Waited: -1,
	}
	bare := &ledgerpb.Grant{
		Id: -1, Node: &ledgerpb.NodeRef{Port: -1}, Resource: grant.Resource, Priority: -1, AllocationRequestId: -1, ExecutionType: -1, Am: true,
		Tags: slices.Repeat([]string{""}, 50), Waited: -1,
	}
	done := &ledgerpb.Completion{
		Container: ref, ExitStatus: -1, Diagnostics: strings.Repeat("d", 1000), Unreported: true,
		Times: &ledgerpb.ContainerTimes{Accepted: -1, Localized: -1, Launched: -1, Ended: -1},
	}
	refs := slices.Repeat([]*ledgerpb.ContainerRef{ref}, 1000)
	for _, c := range []*ledgerpb.Command{
		{ContainersAllocated: &ledgerpb.ContainersAllocated{Attempt: ref.GetAttempt(), Grants: slices.Repeat([]*ledgerpb.Grant{grant}, 1000)}},
		{ContainersAllocated: &ledgerpb.ContainersAllocated{Attempt: ref.GetAttempt(), Grants: slices.Repeat([]*ledgerpb.Grant{bare}, 1000)}},
		{ContainersCompleted: &ledgerpb.ContainersCompleted{Completions: slices.Repeat([]*ledgerpb.Completion{done}, 1000)}},
		{ContainersRunning: &ledgerpb.ContainersRunning{Containers: refs}},
		{ContainersReported: &ledgerpb.ContainersReported{Containers: refs}},
	} {
		n := proto.Size(&ledgerpb.Batch{Commands: []*ledgerpb.Command{c}})
		if bound := SizeBound(c); bound < n || bound > 3*n {
			t.Errorf("bound %d, size %d of a thousand in %.60v", bound, n, c)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("caf\xe9 日本", 7)
	f.Add(strings.Repeat("\xff", 50), 20)
	f.Add("\xe6\x97", 3)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		limit = 8 + limit&0xff
		head, tail := Head(s, limit), Tail(s, limit)
		if len(head) > limit || len(tail) > limit || !utf8.ValidString(head) || !utf8.ValidString(tail) {
			t.Errorf("cut to %d: %q, %q", limit, head, tail)
		}
		if utf8.ValidString(s) && len(s) <= limit && (head != s || tail != s) {
			t.Errorf("changed without need: %q, %q", head, tail)
		}
	})
}
