package mapping

import (
	"errors"
	"strings"
	"testing"
)

// tree are queues by their paths. Those of its values that aren't leaves have a letter: p holds queues, f and l create them, too.
type tree map[string]string

// Lookup implements Queues, as does Ambiguous.
func (t tree) Lookup(name string) (Queue, bool) {
	if kind, ok := t[name]; ok {
		return Queue{Path: name, Leaf: kind == "", Flexible: kind == "f", Legacy: kind == "l"}, true
	}
	if of := t.named(name); len(of) == 1 {
		return t.Lookup(of[0])
	}
	return Queue{}, false
}

func (t tree) Ambiguous(name string) bool { return len(t.named(name)) > 1 }

func (t tree) named(name string) (of []string) {
	for path := range t {
		if name != "" && strings.HasSuffix(path, "."+name) {
			of = append(of, path)
		}
	}
	return of
}

var queues = tree{
	"root": "p", "root.default": "", "root.users": "f", "root.users.known": "", "root.users.sub": "f", "root.static": "p", "root.static.x": "", "root.static.ops": "",
	"root.old": "l", "root.old.twin": "", "root.static.twin": "",
}

// groups are those of all users but two.
func groups(user string) func() ([]string, error) {
	return func() ([]string, error) {
		switch user {
		case "lost":
			return nil, errors.New("no such user")
		case "alone":
			return []string{"one.group"}, nil
		}
		return []string{"staff", "hidden", "ops"}, nil
	}
}

// Each case is a list of rules, an application, and where a stock ResourceManager 3.4.2 puts it ("": where it wants to go; "!": it is refused).
func TestRulesPlace(t *testing.T) {
	for _, c := range []struct{ rules, user, queue, name, want string }{
		{`{"type":"user","matches":"ann","policy":"reject"}`, "ann", "x", "n", "!"},
		{`{"type":"user","matches":"ann","policy":"reject"}`, "bob", "x", "n", ""},
		{`{"type":"user","matches":"*","policy":"user"}`, "known", "x", "n", "root.users.known"},
		{`{"type":"user","matches":"*","policy":"user","parentQueue":"root.users"}`, "a.b", "x", "n", "root.users.a_dot_b"},
		{`{"type":"user","matches":"a.b","policy":"custom","customPlacement":"x"}`, "a.b", "y", "n", "root.static.x"},
		{`{"type":"user","matches":"*","policy":"user","parentQueue":"users"}`, "new", "x", "n", "root.users.new"},
		{`{"type":"user","matches":"*","policy":"user","parentQueue":"old"}`, "new", "x", "n", "root.old.new"},
		{`{"type":"user","matches":"*","policy":"user","parentQueue":"root.users","create":false}`, "new", "x", "n", ""},
		{`{"type":"user","matches":"*","policy":"user","parentQueue":"root.users","create":false,"fallbackResult":"reject"}`, "new", "x", "n", "!"},
		{`{"type":"user","matches":"*","policy":"user","parentQueue":"root.users","create":false,"fallbackResult":"placeDefault"}`, "new", "x", "n", "root.default"},
		{`{"type":"user","matches":"*","policy":"user","parentQueue":"root.static"}`, "new", "x", "n", ""},
		{`{"type":"user","matches":"*","policy":"user","parentQueue":"root.static"}`, "ops", "x", "n", "root.static.ops"},
		{`{"type":"user","matches":"*","policy":"primaryGroup","parentQueue":"root.users"}`, "ann", "x", "n", "root.users.staff"},
		{`{"type":"user","matches":"*","policy":"primaryGroup","parentQueue":"root.users"}`, "alone", "x", "n", "root.users.one_dot_group"},
		{`{"type":"user","matches":"*","policy":"primaryGroupUser","parentQueue":"root.users"}`, "ann", "x", "n", "root.users.staff.ann"},
		{`{"type":"user","matches":"*","policy":"primaryGroup","parentQueue":"root.users"}`, "lost", "x", "n", "root.users.%primary_group"},
		{`{"type":"user","matches":"*","policy":"secondaryGroup","parentQueue":"root.static"}`, "ann", "x", "n", "root.static.ops"},
		{`{"type":"user","matches":"*","policy":"secondaryGroup","parentQueue":"root.users"}`, "ann", "x", "n", ""},
		{`{"type":"user","matches":"*","policy":"secondaryGroup","parentQueue":"root.users"}`, "alone", "x", "n", ""},
		{`{"type":"user","matches":"*","policy":"secondaryGroupUser","parentQueue":"root.static","fallbackResult":"reject"}`, "ann", "x", "n", "!"},
		{`{"type":"user","matches":"*","policy":"applicationName","parentQueue":"root.users"}`, "ann", "x", "job", "root.users.job"},
		{`{"type":"user","matches":"*","policy":"applicationName","parentQueue":"root.users"}`, "ann", "x", "a.b.c", ""},
		{`{"type":"user","matches":"*","policy":"specified"}`, "ann", "root.static.x", "n", "root.static.x"},
		{`{"type":"user","matches":"*","policy":"specified"}`, "ann", "default", "n", ""},
		{`{"type":"user","matches":"*","policy":"specified","fallbackResult":"reject"}`, "ann", "twin", "n", "!"},
		{`{"type":"user","matches":"*","policy":"specified","fallbackResult":"reject"}`, "ann", "root.static", "n", "!"},
		{`{"type":"user","matches":"*","policy":"defaultQueue"}`, "ann", "x", "n", "root.default"},
		{`{"type":"user","matches":"*","policy":"setDefaultQueue","value":"root.users.%user"},{"type":"user","matches":"*","policy":"defaultQueue"}`, "known", "x", "n", "root.users.known"},
		{
			`{"type":"user","matches":"*","policy":"setDefaultQueue","value":"root.nix"},{"type":"user","matches":"*","policy":"reject"}`,
			"known", "x", "n", "!",
		},
		{
			`{"type":"user","matches":"*","policy":"setDefaultQueue","value":"root.nix"},{"type":"user","matches":"*","policy":"custom","customPlacement":"nix","fallbackResult":"placeDefault"}`,
			"known", "x", "n", "!",
		},
		{`{"type":"group","matches":"hidden","policy":"custom","customPlacement":"x"}`, "ann", "y", "n", "root.static.x"},
		{`{"type":"group","matches":"hidden","policy":"custom","customPlacement":"x"}`, "alone", "y", "n", ""},
		{`{"type":"application","matches":"job","policy":"custom","customPlacement":"x"}`, "ann", "y", "job", "root.static.x"},
		{`{"type":"application","matches":"%user","policy":"custom","customPlacement":"x"}`, "ann", "y", "ann", "root.static.x"},
		{`{"type":"application","matches":"*","policy":"custom","customPlacement":"x"}`, "ann", "y", "job", ""},
		{`{"type":"user","matches":"*","policy":"custom","customPlacement":"root.users.sub.%specified"}`, "ann", "q", "n", "root.users.sub.q"},
		{`{"type":"user","matches":"*","policy":"custom","customPlacement":"root.users.a.b.%user"}`, "ann", "q", "n", ""},
		{`{"type":"user","matches":"*","policy":"custom","customPlacement":"root.users..%user"}`, "ann", "q", "n", ""},
		{`{"type":"user","matches":"*","policy":"custom","customPlacement":"static.twin"}`, "ann", "q", "n", "root.static.twin"},
		{`{"type":"user","matches":"*","policy":"custom","customPlacement":"root.%specified"}`, "ann", "default", "n", ""},
	} {
		rules, err := Parse([]byte(`{"rules":[` + c.rules + `]}`))
		if err != nil {
			t.Errorf("%s: %v", c.rules, err)
			continue
		}
		got, err := Place(rules, App{User: c.user, Queue: c.queue, Name: c.name, Groups: groups(c.user)}, queues)
		if errors.Is(err, ErrRejected) {
			got = "!"
		}
		if got != c.want {
			t.Errorf("%s: %s of %s in %s goes to %q, want %q", c.rules, c.name, c.user, c.queue, got, c.want)
		}
	}
}

// Without groups at all, paths have empty parts there.
func TestRulesWithoutGroups(t *testing.T) {
	rules, err := Parse([]byte(`{"rules":[{"type":"user","matches":"*","policy":"primaryGroup","parentQueue":"root.users"},{"type":"group","matches":"staff","policy":"reject"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if path, err := Place(rules, App{User: "ann", Queue: "x"}, queues); path != "" || err != nil {
		t.Errorf("%q, %v", path, err)
	}
}

// The words are those with which a stock ResourceManager 3.4.2 refuses the rules.
func TestRulesAreRefused(t *testing.T) {
	for rule, want := range map[string]string{
		`{"type":"user","matches":"x"}`:                                                                      "Rule policy is undefined",
		`{"matches":"x","policy":"user"}`:                                                                    "Rule type is undefined",
		`{"type":"user","policy":"user"}`:                                                                    "Match string is undefined",
		`{"type":"user","matches":"","policy":"user"}`:                                                       "Match string is empty",
		`{"type":"group","matches":"*","policy":"user"}`:                                                     "Cannot match '*' for groups",
		`{"type":"user","matches":"x","policy":"custom"}`:                                                    "custom queue is undefined",
		`{"type":"user","matches":"x","policy":"setDefaultQueue"}`:                                           "default queue is undefined",
		`{"type":"host","matches":"x","policy":"user"}`:                                                      `there is no type "host"`,
		`{"type":"user","matches":"x","policy":"frob"}`:                                                      `there is no policy "frob"`,
		`{"type":"user","matches":"x","policy":"user","fallbackResult":"frob"}`:                              `there is no fallbackResult "frob"`,
		`{"type":"user","matches":1,"policy":"user"}`:                                                        "cannot unmarshal number",
		`{"type":"user","matches":"x","policy":"custom","customPlacement":""}`:                               "Queue path is empty.",
		`{"type":"user","matches":"x","policy":"custom","customPlacement":"root.nix"}`:                       "Mapping rule specified a parent queue 'root', but it is not a dynamic parent queue, and no queue exists with name 'nix' under it.",
		`{"type":"user","matches":"x","policy":"custom","customPlacement":"root.nix.y"}`:                     "Mapping rule specified a parent queue 'root.nix', but it is not a dynamic parent queue, and no queue exists with name 'y' under it.",
		`{"type":"user","matches":"x","policy":"custom","customPlacement":"nix.y"}`:                          "Path root 'nix' does not exist. Path 'nix.y' is invalid",
		`{"type":"user","matches":"x","policy":"custom","customPlacement":"twin"}`:                           "Path root 'twin' is ambiguous. Path 'twin' is invalid",
		`{"type":"user","matches":"x","policy":"custom","customPlacement":"root.static"}`:                    "Target queue 'root.static' but it's not a leaf queue.",
		`{"type":"user","matches":"x","policy":"custom","customPlacement":"root.users.a.b.c"}`:               "Mapping rule specified a parent queue 'root.users.a.b', but it is not a dynamic parent queue, and no queue exists with name 'c' under it.",
		`{"type":"user","matches":"x","policy":"user","parentQueue":"root.static.x"}`:                        "Queue path 'root.static.x.%user' is invalid because 'root.static.x' is a leaf queue, which can have no other queues under it.",
		`{"type":"user","matches":"x","policy":"user","parentQueue":"root.static.nix"}`:                      "No eligible parent found on path 'root.static.nix.%user'.",
		`{"type":"user","matches":"x","policy":"user","parentQueue":"root..x"}`:                              "Path segment cannot be empty 'root..x.%user'.",
		`{"type":"user","matches":"x","policy":"user","parentQueue":"root.users.new"}`:                       "",
		`{"type":"user","matches":"x","policy":"custom","customPlacement":"root.users.new"}`:                 "",
		`{"type":"user","matches":"x","policy":"custom","customPlacement":"root.users.new.below"}`:           "",
		`{"type":"user","matches":"x","policy":"custom","customPlacement":"root.old.new"}`:                   "",
		`{"type":"user","matches":"x","policy":"custom","customPlacement":"%specified"}`:                     "",
		`{"type":"user","matches":"x","policy":"setDefaultQueue","value":"root.nix","unknown":{"member":1}}`: "",
		`{"type":"user","matches":"x","policy":"reject"}`:                                                    "",
	} {
		rules, err := Parse([]byte(`{"rules":[` + rule + `]}`))
		for i := range rules {
			err = rules[i].Validate(queues)
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", rule, err, want)
		}
	}
	for text, want := range map[string]string{
		"":                                     "EOF",
		"{":                                    "not JSON",
		`{"rules":[]} {}`:                      "there is more behind",
		`{"rules":[` + many(maxRules+1) + `]}`: "rules, and may be",
		strings.Repeat(" ", MaxJSON+1):         "bytes, and may have",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
}

// many are n rules.
func many(n int) string { return strings.TrimSuffix(strings.Repeat(`{},`, n), ",") }

// Whatever the rules are, they are refused, or place each application in an existing leaf, or below a queue that creates queues.
func FuzzRules(f *testing.F) {
	f.Add(`{"rules":[{"type":"user","matches":"*","policy":"user","parentQueue":"root.users"}]}`, "ann", "x", "n")
	f.Add(`{"rules":[{"type":"group","matches":"%user","policy":"custom","customPlacement":"root.%application.%secondary_group"}]}`, "a.b", "", "c..d.")
	f.Fuzz(func(t *testing.T, text, user, queue, name string) {
		rules, err := Parse([]byte(text))
		if err != nil {
			return
		}
		for i := range rules {
			if err := rules[i].Validate(queues); err != nil && rules[i].String() == "" {
				t.Error("a rule without a name")
			}
		}
		path, err := Place(rules, App{User: user, Queue: queue, Name: name, Groups: groups(user)}, queues)
		if err != nil || path == "" {
			return
		}
		if q, ok := queues.Lookup(path); ok && !q.Leaf || !ok && validity(queues, path) != creatable {
			t.Errorf("%s of %s in %s goes to %q", name, user, queue, path)
		}
	})
}
