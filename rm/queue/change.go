package queue

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"heddle/conf"
)

// Change is a change of a configuration at run time: queues to remove, to add and to update, and other
// settings, applied in this order (Hadoop: SchedConfUpdateInfo).
type Change struct {
	Remove      []string // paths
	Add, Update []QueueChange
	Global      []Setting
}

// QueueChange sets a queue's properties, by keys without the queue's path.
type QueueChange struct {
	Queue  string // path
	Params []Setting
}

// Setting is a key and its value; nil removes the key.
type Setting struct {
	Key   string
	Value *string
}

// maxSettings limits the size of all settings, in bytes.
const maxSettings = 8 << 20

// Apply returns settings, by whole keys, with the change applied (Hadoop: ConfigurationUpdateAssembler). Check the result
// as a whole: like YARN's stores, Apply accepts settings of queues that don't exist.
func (c *Change) Apply(settings map[string]string) (map[string]string, error) {
	out := maps.Clone(settings)
	if out == nil {
		out = map[string]string{}
	}
	for _, path := range c.Remove {
		if err := removeQueue(out, strings.TrimSpace(path)); err != nil {
			return nil, err
		}
	}
	for _, q := range c.Add {
		if err := addQueue(out, q); err != nil {
			return nil, err
		}
	}
	for _, q := range c.Update {
		set(out, Prefix+q.Queue+".", q.Params)
	}
	for _, s := range c.Global {
		if s.Key = strings.TrimSpace(s.Key); s.Key == "" {
			return nil, fmt.Errorf("a global update has no key")
		}
		if s.Value == nil {
			delete(out, s.Key)
		} else {
			out[s.Key] = *s.Value
		}
	}
	size := 0
	for k, v := range out {
		if size += len(k) + len(v); size > maxSettings {
			return nil, fmt.Errorf("the configuration would have more than %d MiB", maxSettings>>20)
		}
	}
	return out, nil
}

func set(settings map[string]string, prefix string, params []Setting) {
	for _, s := range params {
		if s.Value == nil || *s.Value == "" {
			delete(settings, prefix+s.Key)
		} else {
			settings[prefix+s.Key] = *s.Value
		}
	}
}

func addQueue(settings map[string]string, q QueueChange) error {
	parent, name, ok := cutLast(q.Queue)
	if !ok {
		return inWords("Can't add invalid queue %s", shorten(q.Queue))
	}
	siblings := conf.ParseList(settings[Prefix+parent+".queues"])
	if slices.Contains(siblings, name) {
		return inWords("Can't add existing queue %s", shorten(q.Queue))
	}
	settings[Prefix+parent+".queues"] = strings.Join(append(siblings, name), ",")
	set(settings, Prefix+q.Queue+".", q.Params)
	if len(siblings) == 0 { // a queue with children has no order of applications
		delete(settings, Prefix+parent+".ordering-policy")
	}
	return nil
}

func removeQueue(settings map[string]string, path string) error {
	parent, name, ok := cutLast(path)
	if !ok {
		return inWords("Can't remove queue %s", shorten(path))
	}
	siblings := conf.ParseList(settings[Prefix+parent+".queues"])
	i := slices.Index(siblings, name)
	if i < 0 {
		return inWords("Queue %s not found", shorten(path))
	}
	if siblings = slices.Delete(siblings, i, i+1); len(siblings) == 0 {
		delete(settings, Prefix+parent+".queues")
		delete(settings, Prefix+parent+".ordering-policy")
	} else {
		settings[Prefix+parent+".queues"] = strings.Join(siblings, ",")
	}
	for key := range settings {
		if strings.HasPrefix(key, Prefix+path+".") {
			delete(settings, key)
		}
	}
	return nil
}

// words are errors in Hadoop's wording, which may begin with a capital letter.
type words string

func (w words) Error() string { return string(w) }

func inWords(format string, args ...any) error { return words(fmt.Sprintf(format, args...)) }

// Invalid says why a configuration can't be used.
type Invalid struct {
	Problems []conf.Problem
	// Words is Hadoop's wording of the first problem, "" where it says less than the problem itself.
	Words string
}

func (e *Invalid) Error() string { return joined(e.Problems).Error() }

// Unwrap returns all problems.
func (e *Invalid) Unwrap() []error { return []error{joined(e.Problems)} }

// Brief is the message for the client that made the change: Hadoop's wording if there is one.
func (e *Invalid) Brief() string {
	if e.Words != "" {
		return e.Words
	}
	return e.Error()
}
