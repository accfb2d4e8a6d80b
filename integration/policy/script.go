package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"heddle/yarn/records"
)

// Scenario is a parsed script.
type Scenario struct {
	Name      string
	Tolerance int           // in containers
	Quiet     time.Duration // time without a change until a cluster counts as settled

	// Settings are the ResourceManager's settings at its start. Allocations is the fair scheduler's file, or "".
	Settings    Settings
	Allocations string
	Steps       []Step

	racks   map[string]string // racks of nodes outside the default rack
	retired []string          // hosts being decommissioned
}

// Settings are configuration keys with their values.
type Settings map[string]string

// Step is a line of a script.
type Step struct {
	Line    int
	Text    string // text of the line
	Verb    string
	Args    []string
	Options map[string]string
	Body    string // indented lines that follow it
	Try     bool   // do as much of it as possible
}

const capacityPrefix = "yarn.scheduler.capacity."

// schedulers are the classes behind the names of policies.
var schedulers = map[string]string{
	"capacity": "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler",
	"fair":     "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler",
	"fifo":     "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fifo.FifoScheduler",
}

// verbs has each verb's number of words, and its options.
var verbs = map[string]struct {
	least, most int
	options     []string
	setup       bool // only changes the configuration
}{
	"scheduler":    {1, 1, nil, true},
	"cs":           {1, 99, nil, true},
	"set":          {1, 99, nil, true},
	"allocations":  {0, 0, nil, true},
	"groups":       {2, 99, nil, true},
	"tolerance":    {1, 1, nil, true},
	"quiet":        {1, 1, nil, true},
	"node":         {2, 2, []string{"rack", "queue"}, false},
	"leave":        {1, 1, nil, false},
	"lose":         {1, 1, nil, false},
	"resize":       {2, 2, nil, false},
	"retire":       {1, 1, nil, false},
	"retain":       {1, 1, nil, false},
	"submit":       {1, 1, []string{"queue", "user", "priority", "am", "lifetime", "tags", "label", "amlabel", "name", "constraints"}, false},
	"ask":          {3, 4, []string{"priority", "on", "rack", "label", "everywhere", "type"}, false},
	"want":         {2, 2, []string{"priority"}, false},
	"schedule":     {3, 3, []string{"priority", "tag", "constraint", "type"}, false},
	"rejected":     {1, 1, nil, false},
	"promote":      {2, 2, []string{"wrong"}, false},
	"demote":       {2, 2, []string{"wrong"}, false},
	"kinds":        {1, 1, nil, false},
	"labels":       {2, 99, []string{"known"}, false},
	"attributes":   {1, 99, []string{"known"}, false},
	"release":      {2, 2, []string{"size", "on"}, false},
	"blacklist":    {2, 99, nil, false},
	"finish":       {1, 1, nil, false},
	"kill":         {1, 1, nil, false},
	"move":         {2, 2, nil, false},
	"priority":     {2, 2, nil, false},
	"lifetime":     {2, 2, nil, false},
	"expires":      {1, 1, nil, false},
	"refresh":      {0, 0, nil, false},
	"settle":       {0, 1, nil, false},
	"queues":       {0, 0, nil, false},
	"reservations": {0, 0, nil, false},
}

// base has the initial settings of all scenarios: quick heartbeats, and no limit on ApplicationMasters unless a
// scenario sets one.
func base() Settings {
	return Settings{
		"yarn.resourcemanager.nodemanagers.heartbeat-interval-ms":       strconv.Itoa(int(beat / time.Millisecond)),
		"yarn.scheduler.minimum-allocation-mb":                          "1024",
		"yarn.scheduler.fair.update-interval-ms":                        "50",
		"yarn.scheduler.capacity.maximum-am-resource-percent":           "1",
		"yarn.scheduler.capacity.resource-calculator":                   "org.apache.hadoop.yarn.util.resource.DefaultResourceCalculator",
		"yarn.resourcemanager.scheduler.class":                          schedulers["capacity"],
		"yarn.resourcemanager.application-timeouts.monitor.interval-ms": "500",
	}
}

// defaultQuiet is long enough for a dozen heartbeats.
const defaultQuiet = 600 * time.Millisecond

// Parse reads a script.
func Parse(name, text string) (*Scenario, error) {
	sc := &Scenario{Name: name, Quiet: defaultQuiet, Settings: base(), racks: map[string]string{}}
	var steps []Step
	for i, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "\t") && len(steps) > 0 && steps[len(steps)-1].Verb == "allocations" {
			steps[len(steps)-1].Body += line[1:] + "\n"
			continue
		}
		words := strings.Fields(line)
		if len(words) == 0 || words[0][0] == '#' {
			continue
		}
		try := words[0] == "try" && len(words) > 1
		if try {
			words = words[1:]
		}
		s, err := parseStep(words)
		if s.Try = try; err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, i+1, err)
		}
		s.Line, s.Text = i+1, strings.Join(words, " ")
		steps = append(steps, s)
	}
	started := false
	for _, s := range steps {
		if !verbs[s.Verb].setup {
			started = true
		}
		if rack := s.Options["rack"]; s.Verb == "node" && rack != "" {
			sc.racks[s.Args[0]] = rack
		}
		if started {
			sc.Steps = append(sc.Steps, s)
			continue
		}
		if err := sc.configure(s); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, s.Line, err)
		}
	}
	return sc, nil
}

func parseStep(words []string) (Step, error) {
	v, ok := verbs[words[0]]
	if !ok {
		return Step{}, fmt.Errorf("there is no verb %q", words[0])
	}
	s := Step{Verb: words[0], Options: map[string]string{}}
	for _, w := range words[1:] {
		key, value, isOption := strings.Cut(w, "=")
		if isOption && slices.Contains(v.options, key) {
			s.Options[key] = value
			continue
		}
		s.Args = append(s.Args, w)
	}
	if len(s.Args) < v.least || len(s.Args) > v.most {
		return Step{}, fmt.Errorf("%s takes %d to %d words besides its options, not %q", s.Verb, v.least, v.most, s.Args)
	}
	return s, nil
}

// configure applies a line of the configuration.
func (sc *Scenario) configure(s Step) (err error) {
	switch s.Verb {
	case "scheduler":
		class, ok := schedulers[s.Args[0]]
		if !ok {
			return fmt.Errorf("there is no scheduler %q", s.Args[0])
		}
		sc.Settings["yarn.resourcemanager.scheduler.class"] = class
	case "cs":
		if sc.Settings.put(capacityPrefix+s.Args[0], s.Args[1:]); slices.Equal(s.Args[1:], []string{blank}) {
			sc.Settings[capacityPrefix+s.Args[0]] = " "
		}
	case "set":
		sc.Settings.put(s.Args[0], s.Args[1:])
	case "allocations":
		sc.Allocations = s.Body
	case "groups":
		const key = "hadoop.user.group.static.mapping.overrides"
		sc.Settings[key] += s.Args[0] + "=" + strings.Join(s.Args[1:], ",") + ";"
	case "tolerance":
		sc.Tolerance, err = strconv.Atoi(s.Args[0])
	case "quiet":
		sc.Quiet, err = time.ParseDuration(s.Args[0])
	}
	return err
}

// blank stands for a value that is one blank.
const blank = "%sp%"

// put sets a key. Without a value it removes the key.
func (s Settings) put(key string, words []string) {
	if len(words) == 0 {
		delete(s, key)
		return
	}
	s[key] = strings.Join(words, " ")
}

// parseResource reads MEMORY,VCORES and further TYPE=AMOUNT.
func parseResource(text string, types records.ResourceTypes) (records.Resource, error) {
	var r records.Resource
	for i, part := range strings.Split(text, ",") {
		name, amount, named := strings.Cut(part, "=")
		if !named {
			name, amount = "", part
		}
		n, err := strconv.ParseInt(amount, 10, 64)
		if err != nil {
			return r, fmt.Errorf("resource %q: %w", text, err)
		}
		at := i
		if named {
			var ok bool
			if at, ok = types.Index(name); !ok {
				return r, fmt.Errorf("resource %q: no type %q", text, name)
			}
		} else if i > records.VCores {
			return r, fmt.Errorf("resource %q: only memory and vcores go without a name", text)
		}
		r[at] = n
	}
	return r, nil
}
