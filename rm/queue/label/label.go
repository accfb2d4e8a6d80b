// Package label has the names of node labels in the settings of the CapacityScheduler: which of them a queue may use, and which keys set
// its shares of the nodes that have one. Nodes with the same label are a partition; those without a label are the default one, whose name is
// empty.
package label

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Keys of a queue, without its path.
const (
	AccessKey  = "accessible-node-labels"
	DefaultKey = "default-node-label-expression"
)

// Any as a label stands for all labels.
const Any = "*"

// Key returns what comes before the name of a setting of a queue's share of a partition: nothing in the default one.
func Key(label string) string {
	if label == "" {
		return ""
	}
	return AccessKey + "." + label + "."
}

// Named returns the labels that the keys of some settings name, sorted. Keys lack the prefix of the scheduler.
func Named(settings map[string]string) []string {
	seen := map[string]bool{}
	for key := range settings {
		if _, rest, ok := strings.Cut(key, "."+AccessKey+"."); ok {
			if name, _, ok := strings.Cut(rest, "."); ok && Check(name) == nil {
				seen[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// shares are the settings of a queue's share of a partition.
var shares = []string{"capacity", "maximum-capacity", "maximum-am-resource-percent"}

// IsSetting reports whether a key, without the path of its queue, sets what it has of a partition, or which labels it may use.
func IsSetting(key string) bool {
	rest, of := strings.CutPrefix(key, AccessKey+".")
	name, what, _ := strings.Cut(rest, ".")
	return key == AccessKey || key == DefaultKey || of && Check(name) == nil && slices.Contains(shares, what)
}

// Sets reports whether settings say anything of a queue's share of a partition.
func Sets(settings map[string]string, path, label string) bool {
	for _, key := range shares {
		if strings.TrimSpace(settings[path+"."+Key(label)+key]) != "" {
			return true
		}
	}
	return false
}

// Access returns the labels that a queue may use, given its setting and the labels of the queue above it: nil for the root, whose labels are all
// of them. A setting that is empty isn't made, but one of blanks alone allows no label (Hadoop: CapacitySchedulerConfiguration.getAccessibleNodeLabels).
func Access(setting string, above []string) []string {
	if above == nil {
		return []string{Any}
	}
	if setting == "" {
		return above
	}
	own := []string{}
	for name := range strings.SplitSeq(setting, ",") {
		if name = strings.TrimSpace(name); name != "" && !slices.Contains(own, name) {
			own = append(own, name)
		}
	}
	if slices.Contains(own, Any) {
		return []string{Any}
	}
	return own
}

// Has reports whether a list of labels, as Access returns it, has a label. Every list has the default partition.
func Has(labels []string, label string) bool {
	return label == "" || slices.Contains(labels, label) || slices.Contains(labels, Any)
}

// Beyond returns the labels of one list that another one lacks.
func Beyond(labels, of []string) (lacking []string) {
	for _, name := range labels {
		if !Has(of, name) {
			lacking = append(lacking, name)
		}
	}
	return lacking
}

// maxName is the most characters that a label may have.
const maxName = 255

// Check returns an error in Hadoop's words if a name can't be that of a label (Hadoop: CommonNodeLabelsManager.checkAndThrowLabelName).
func Check(name string) error {
	if name == "" || len(name) > maxName {
		return fmt.Errorf("label added is empty or exceeds %d character(s)", maxName)
	}
	for i, c := range name {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letter && (i == 0 || c != '-' && c != '_') {
			return fmt.Errorf("label name should only contains {0-9, a-z, A-Z, -, _} and should not started with {-,_}, now it is= %s", name)
		}
	}
	return nil
}
