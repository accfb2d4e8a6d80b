package eventlog

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"heddle/conf"
	"heddle/rm/queue"
	"heddle/rm/queue/mapping"
	"heddle/rm/queue/template"
	"heddle/yarn/records"
)

// Source holds the input that a tree of queues is made from: configuration keys, and the allocation file of YARN's FairScheduler.
type Source struct {
	Keys       map[string]string `json:"keys"`
	Allocation string            `json:"allocation,omitempty"`
	// Created are the queues that were created on demand.
	Created []template.Created `json:"created,omitempty"`
}

// Creating is the source with queues that were created on demand.
func (s *Source) Creating(list []template.Created) *Source {
	if s == nil {
		return nil
	}
	next := *s
	next.Created = list
	return &next
}

const allocationFile = "yarn.scheduler.fair.allocation.file"

// prefixes begin the keys that schedulers heed.
var prefixes = []string{
	"yarn.scheduler.", "yarn.resourcemanager.scheduler.", "yarn.resourcemanager.monitor.", "yarn.resource-types",
	"yarn.cluster.max-application-priority", "heddle.scheduler.",
}

// SourceOf returns the part of a configuration that makes the queues, with its files.
func SourceOf(c *conf.Config) (*Source, error) {
	s := &Source{Keys: map[string]string{}}
	d, err := queue.WithCapacityFile(c)
	if err != nil {
		return nil, err
	}
	for _, p := range prefixes {
		for rest, value := range d.WithPrefix(p) {
			if key := p + rest; key != allocationFile {
				s.Keys[key] = value
			}
		}
	}
	for rest, value := range d.VerbatimWithPrefix(queue.Prefix) {
		s.Keys[queue.Prefix+rest] = value
	}
	kind, err := queue.KindOf(c)
	if err == nil && kind == queue.Capacity {
		err = mapping.Keep(c.Dir(), queue.Prefix, s.Keys)
	}
	if err != nil || kind != queue.Fair {
		return s, err
	}
	file := c.Text(allocationFile)
	if !filepath.IsAbs(file) {
		file = filepath.Join(c.Dir(), file)
	}
	b, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", allocationFile, err)
	}
	s.Allocation = string(b)
	return s, nil
}

// With returns the source with other queues: the properties of capacity-scheduler.xml, or the text of an allocation file by the
// name fair-scheduler.xml. Without settings it returns the source itself.
func (s *Source) With(settings map[string]string) *Source {
	if s == nil {
		return nil
	}
	if len(settings) == 0 { // there is no file: what the other files say of queues is in effect
		return s
	}
	next := &Source{Keys: maps.Clone(s.Keys), Allocation: s.Allocation}
	if text, fair := settings[queue.FairFileKey]; fair {
		next.Allocation = text
		return next
	}
	maps.DeleteFunc(next.Keys, func(key, _ string) bool {
		return strings.HasPrefix(key, queue.Prefix) && key != queue.Prefix+mapping.TextKey
	})
	maps.Copy(next.Keys, settings)
	return next
}

// Heeds reports whether a key is one of those that schedulers heed.
func Heeds(key string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(key, p) })
}

// Tree makes the queues, and the types of resources that they are measured by. Its errors call the allocation file queue.FairFileKey.
func (s *Source) Tree() (*queue.Tree, records.ResourceTypes, error) {
	var types records.ResourceTypes
	if s == nil {
		return nil, types, nil
	}
	c, err := s.Conf()
	if err != nil {
		return nil, types, err
	}
	if types, err = c.ResourceTypes(); err != nil {
		return nil, types, err
	}
	tree, err := s.tree(c)
	return tree, types, err
}

func (s *Source) tree(c *conf.Config) (*queue.Tree, error) {
	kind, err := queue.KindOf(c)
	if err != nil {
		return nil, err
	}
	switch kind {
	case queue.FIFO:
		return queue.Default(queue.FIFO), nil
	case queue.Fair:
		return queue.FairFromText(c, s.Allocation)
	}
	tree, err := queue.CapacityFromConf(c)
	if err == nil && len(s.Created) > 0 {
		tree, _, err = tree.Restored(s.Created)
	}
	return tree, err
}

// Conf returns a configuration with the keys.
func (s *Source) Conf() (*conf.Config, error) {
	c, err := conf.Load(conf.Options{})
	if err != nil {
		return nil, err
	}
	for key, value := range s.Keys {
		c.Set(key, value)
	}
	c.Set(allocationFile, queue.FairFileKey)
	return c, nil
}
