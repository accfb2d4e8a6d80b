package template

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"heddle/conf"
	"heddle/rm/queue/fairrule"
)

// Parent is a queue below which another one may be created.
type Parent struct {
	Path     string
	Static   bool // it is in the configuration
	Leaf     bool
	Creation *Creation
	Children int
	Weights  bool // it may have children with weights
}

// Queues are the queues that exist.
type Queues interface {
	// Parent finds a queue by its path, or by its name if only one has it.
	Parent(name string) (Parent, bool)
	// Ambiguous reports whether more than one queue has a name.
	Ambiguous(name string) bool
}

// maxPath limits the path of a queue that is created, in bytes.
const maxPath = 512

// Missing returns what has to be created for a queue to exist, parents first, or says in Hadoop's words why it can't be. above is the existing queue below which
// the first one would be (Hadoop: CapacitySchedulerQueueManager.determineMissingParents). See Parent.Room for bounds.
func Missing(path string, queues Queues) (list []Created, above Parent, err error) {
	parent, name := Cut(strings.TrimFunc(path, blank))
	name = strings.TrimFunc(name, blank) // as Hadoop trims the name of a queue
	path = parent + "." + name
	if parent == "" || !fairrule.ValidName(path) || strings.ContainsFunc(path, unicode.IsControl) || len(path) > maxPath {
		return nil, above, words("%q can't be created", conf.Shorten(path))
	}
	if above, ok := queues.Parent(parent); ok && above.Creation.Legacy {
		return []Created{{Path: above.Path + "." + name, Legacy: true}}, above, nil
	}
	if queues.Ambiguous(parent) {
		return nil, above, words("Could not auto-create queue %s due to ParentQueue %s being ambiguous.", path, parent)
	}
	above, static, names, distance := ancestors(parent, queues)
	switch {
	case static == nil:
		return nil, above, words("Could not auto-create queue %s parent queue does not exist.", path)
	case distance > static.Depth:
		return nil, above, words("Could not auto create queue %s. The distance of the LeafQueue from the first static ParentQueue is %d, which is above the limit.", path, distance)
	case above.Leaf:
		return nil, above, words("Could not auto create hierarchy of %s. Queue %s is not a ParentQueue.", path, parent)
	case !above.Creation.Flexible:
		return nil, above, words("Auto creation of queue %s is not enabled under parent %s", path, above.Path)
	}
	full := above.Path
	for _, missed := range slices.Backward(names) {
		full += "." + missed
		list = append(list, Created{Path: full, Parent: true})
	}
	return append(list, Created{Path: full + "." + name}), above, nil
}

// blank reports whether Java's String.trim takes a character off.
func blank(r rune) bool { return r <= ' ' }

// ancestors looks upwards from a queue's parent. It returns the first queue that exists, how the first of the configuration creates queues (nil: there is none), the
// names of those that are missing, the last first, and how far that queue of the configuration is above the leaf.
func ancestors(parent string, queues Queues) (above Parent, static *Creation, missing []string, distance int32) {
	found := false
	for at := parent; at != ""; {
		distance++
		q, ok := queues.Parent(at)
		if ok && !found {
			above, found = q, true
		}
		if ok && q.Static {
			return above, q.Creation, missing, distance
		}
		before, last := Cut(at)
		if !found {
			missing = append(missing, last)
		}
		at = before
	}
	return above, nil, missing, distance
}

// Room says why the queue can't have another child, in Hadoop's words.
func (p *Parent) Room(first Created) error {
	switch {
	case p.Children >= int(p.Creation.Max) && first.Legacy:
		return words("Cannot auto create leaf queue %s.Max Child Queue limit exceeded which is configured as : %d and number of child queues is : %d", first.Path, p.Creation.Max, p.Children)
	case p.Children >= int(p.Creation.Max):
		return words("Cannot auto create queue %s. Max Child Queue limit exceeded which is configured as: %d and number of child queues is: %d", first.Path, p.Creation.Max, p.Children)
	case !first.Legacy && !p.Weights:
		return words("Trying to create new queue=%s but not all the queues under parent=%s are using weight-based capacity. Failed to created queue", first.Path, p.Path)
	}
	return nil
}

// Cut splits the last part off a path.
func Cut(path string) (before, last string) {
	i := strings.LastIndexByte(path, '.')
	return path[:max(i, 0)], path[i+1:]
}

// stock is an error in Hadoop's words, which may begin with a capital letter.
type stock string

func (s stock) Error() string { return string(s) }

func words(format string, args ...any) error { return stock(fmt.Sprintf(format, args...)) }
