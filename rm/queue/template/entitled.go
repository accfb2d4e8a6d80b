package template

import "slices"

// A legacy leaf has the capacity of its template while the queue above it has as much left, and none otherwise, by partition. It may use what is idle all the same
// (Hadoop: GuaranteedOrZeroCapacityOverTimePolicy).

// Rooms tells for each partition in which legacy leaves of a queue get a capacity how many may have it. It returns nil for a queue that doesn't exist.
type Rooms func(path string) map[string]int

// Entitled returns created queues with what their legacy leaves are entitled to: those that have it keep it as long as they have applications, and those that
// have none get it while there is room. used are leaves with applications, those of the oldest first.
func Entitled(list []Created, used []string, rooms Rooms) []Created {
	list = slices.Clone(list)
	below := map[string]*leaves{}
	at := map[string]int{}
	for i, c := range list {
		if parent, _ := Cut(c.Path); c.Legacy {
			if below[parent] == nil {
				below[parent] = &leaves{used: map[int]bool{}}
			}
			below[parent].all = append(below[parent].all, i)
			at[c.Path] = i
		}
	}
	for _, path := range used {
		if i, ok := at[path]; ok {
			parent, _ := Cut(path)
			below[parent].use(i)
		}
	}
	for parent, of := range below {
		for partition, room := range rooms(parent) {
			of.entitle(list, partition, room)
		}
	}
	return list
}

// EntitledAnew is Entitled where no leaf has a capacity before.
func EntitledAnew(list []Created, used []string, rooms Rooms) []Created {
	list = slices.Clone(list)
	for i, c := range list {
		if parent, _ := Cut(c.Path); c.Legacy {
			list[i].Zero = nil
			for partition := range rooms(parent) {
				list[i].Zero = append(list[i].Zero, partition)
			}
			slices.Sort(list[i].Zero)
		}
	}
	return Entitled(list, used, rooms)
}

// leaves are the legacy leaves of a queue, by their index in a list of created queues.
type leaves struct {
	all, sorted []int
	used        map[int]bool // those in order
}

func (l *leaves) use(i int) {
	if !l.used[i] {
		l.used[i] = true
		l.sorted = append(l.sorted, i)
	}
}

// entitle is Entitled for the leaves in one partition, of which room may have a capacity.
func (l *leaves) entitle(list []Created, partition string, room int) {
	for _, i := range l.all {
		switch {
		case slices.Contains(list[i].Zero, partition):
		case l.used[i]:
			room--
		default:
			list[i].Zero = append(slices.Clone(list[i].Zero), partition)
			slices.Sort(list[i].Zero)
		}
	}
	for _, i := range l.sorted {
		if room <= 0 {
			return
		}
		if at := slices.Index(list[i].Zero, partition); at >= 0 {
			room--
			list[i].Zero = slices.Delete(slices.Clone(list[i].Zero), at, at+1)
		}
	}
}
