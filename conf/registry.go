package conf

import (
	_ "embed"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"heddle/internal/nearness"
)

//go:embed facts/yarn-keys.tsv
var yarnFacts string

// registry has every known key by its name.
type registry struct {
	keys     map[string]Key    // keys with a line in keys_*.go
	patterns []Key             // keys with <…> in their name
	defaults map[string]string // of all known keys, including YARN's without such a line
	known    map[string]bool   // YARN's names, including those without a default
	families []string          // patterns of YARN's names
}

// keys is the registry. It is built once and never changes.
var keys = sync.OnceValue(func() *registry {
	r := &registry{keys: map[string]Key{}, defaults: map[string]string{}, known: map[string]bool{}}
	for name, def := range facts(yarnFacts) {
		if strings.Contains(name, "<") {
			r.families = append(r.families, name)
			continue
		}
		r.known[name] = true
		if def != "" {
			r.defaults[name] = def
		}
	}
	for _, k := range slices.Concat(heddleKeys(), coreKeys(), groupKeys(), hdfsKeys(), sslKeys(), mapredKeys(), yarnKeys(), resourceManagerKeys(), schedulerKeys(), nodeManagerKeys(), imageKeys()) {
		if _, ok := r.keys[k.Name]; ok {
			panic(fmt.Sprintf("conf: %s is in the registry twice", k.Name))
		}
		r.keys[k.Name] = k
		if strings.Contains(k.Name, "<") {
			r.patterns = append(r.patterns, k)
			continue
		}
		delete(r.defaults, k.Name)
		if k.Default != "" {
			r.defaults[k.Name] = k.Default
		}
	}
	return r
})

// Keys lists the registry by name: the keys whose meaning this package knows. Of YARN's other keys it knows only names
// and defaults.
func Keys() iter.Seq[Key] {
	return func(yield func(Key) bool) {
		for _, name := range slices.Sorted(maps.Keys(keys().keys)) {
			if !yield(keys().keys[name]) {
				return
			}
		}
	}
}

// FindKey returns the registry's line for a key. For a name that a pattern such as heddle.raft.address.<id> covers, it
// returns that line with the name.
func FindKey(name string) (Key, bool) {
	name = Canonical(name)
	r := keys()
	if k, ok := r.keys[name]; ok {
		return k, true
	}
	for _, k := range r.patterns {
		if matches(k.Name, name) {
			k.Name = name
			return k, true
		}
	}
	return Key{}, false
}

// matches compares a name with a pattern. <…> in the pattern stands for any text, because users and resource types may
// have dots in their names.
func matches(pattern, name string) bool {
	open, end := strings.IndexByte(pattern, '<'), strings.IndexByte(pattern, '>')
	before, after := pattern[:open], pattern[end+1:]
	return len(name) > len(before)+len(after) && strings.HasPrefix(name, before) && strings.HasSuffix(name, after)
}

// foreign are prefixes of YARN's keys that programs other than Heddle's roles read, or that are checked elsewhere:
// MapReduce, YARN services, the queues of the capacity scheduler, auxiliary services.
var foreign = []string{
	"yarn.app.mapreduce.", "yarn.application.admin.client.class.", "yarn.scheduler.capacity.", "yarn.service.",
	"yarn.nodemanager.aux-services.",
}

// openEnded are prefixes of keys that YARN's plug-ins define.
var openEnded = []string{
	"yarn.federation.", "yarn.node-attribute.", "yarn.nodemanager.csi-driver-adaptor.", "yarn.nodemanager.csi-driver.",
	"yarn.nodemanager.resource-plugins.", "yarn.nodemanager.runtime.linux.", "yarn.resourcemanager.proxyuser.", "yarn.router.",
	"yarn.timeline-service.http-authentication.", "yarn.timeline-service.http-cross-origin.",
}

func hasPrefixOf(name string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// knownYARN reports whether YARN 3.4 has a key with that name.
func (r *registry) knownYARN(name string) bool {
	return r.known[name] || hasPrefixOf(name, openEnded) || slices.ContainsFunc(r.families, func(pattern string) bool { return matches(pattern, name) })
}

// nearest returns the known key that is most like name, or "" if none is close. Candidates have the same first part.
func (r *registry) nearest(name string) string {
	family, _, _ := strings.Cut(name, ".")
	return nearness.Nearest(name, func(yield func(string) bool) {
		for candidate := range r.known {
			if strings.HasPrefix(candidate, family+".") && !yield(candidate) {
				return
			}
		}
		for candidate := range r.keys {
			if strings.HasPrefix(candidate, family+".") && !yield(candidate) {
				return
			}
		}
	})
}
