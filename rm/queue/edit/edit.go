// Package edit changes the settings of queues at run time, as clients ask by REST or on a command line: it adds, removes and updates queues
// in the settings of capacity-scheduler.xml. It returns new settings, of which package queue makes a tree, or says why not.
package edit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"heddle/conf"
	"heddle/rm/queue"
)

// Change is a change of a configuration at run time: queues to remove, to add and to update, and other
// settings, applied in this order (Hadoop: SchedConfUpdateInfo).
type Change struct {
	Remove      []string // paths
	Add, Update []Queue
	Global      []Setting
}

// Queue sets a queue's properties, by keys without the queue's path.
type Queue struct {
	Path   string
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
		set(out, queue.Prefix+q.Path+".", q.Params)
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

func addQueue(settings map[string]string, q Queue) error {
	parent, name, ok := cut(q.Path)
	if !ok {
		return refuse("Can't add invalid queue %s", conf.Shorten(q.Path))
	}
	siblings := conf.ParseList(settings[queue.Prefix+parent+".queues"])
	if slices.Contains(siblings, name) {
		return refuse("Can't add existing queue %s", conf.Shorten(q.Path))
	}
	settings[queue.Prefix+parent+".queues"] = strings.Join(append(siblings, name), ",")
	set(settings, queue.Prefix+q.Path+".", q.Params)
	if len(siblings) == 0 { // a queue with children has no order of applications
		delete(settings, queue.Prefix+parent+".ordering-policy")
	}
	return nil
}

func removeQueue(settings map[string]string, path string) error {
	parent, name, ok := cut(path)
	if !ok {
		return refuse("Can't remove queue %s", conf.Shorten(path))
	}
	siblings := conf.ParseList(settings[queue.Prefix+parent+".queues"])
	i := slices.Index(siblings, name)
	if i < 0 {
		return refuse("Queue %s not found", conf.Shorten(path))
	}
	if siblings = slices.Delete(siblings, i, i+1); len(siblings) == 0 {
		delete(settings, queue.Prefix+parent+".queues")
		delete(settings, queue.Prefix+parent+".ordering-policy")
	} else {
		settings[queue.Prefix+parent+".queues"] = strings.Join(siblings, ",")
	}
	for key := range settings {
		if strings.HasPrefix(key, queue.Prefix+path+".") {
			delete(settings, key)
		}
	}
	return nil
}

// cut splits the last part off a path; ok is false if there is only one.
func cut(path string) (parent, name string, ok bool) {
	i := strings.LastIndexByte(path, '.')
	return path[:max(i, 0)], path[i+1:], i >= 0
}

// refusal is an error in Hadoop's wording, which may begin with a capital letter.
type refusal string

func (r refusal) Error() string { return string(r) }

func refuse(format string, args ...any) error { return refusal(fmt.Sprintf(format, args...)) }
