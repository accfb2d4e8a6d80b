package load

// What the types of applications tell of their containers.
const (
	mapReduce = "MAPREDUCE"
	spark     = "SPARK"

	// Priorities of MapReduce's requests (Hadoop: RMContainerAllocator).
	failedMaps  = 5
	reduceTasks = 10
	mapTasks    = 20

	// executorsEnd is how long, in ms, before Spark's ApplicationMaster its executors may end because it is about to.
	executorsEnd = 5000

	// StartUp is how much of a reduce's time, in ms, is taken for the start of its process, which needs no maps.
	StartUp = 3000
)

// finish says what the attempt's end followed.
func (o *open) finish(a *app, now int64) {
	if a.Type == spark && !a.Cut {
		for i := range o.Kinds {
			for k := range o.Kinds[i].Lives {
				if l := &o.Kinds[i].Lives[k]; l.Ends == Done && l.End >= now-executorsEnd {
					l.Ends = WithIt
					o.ended--
				}
			}
		}
	}
	o.Ends = o.ended
	for i := range o.Asks {
		o.Asks[i].Ended = min(o.Asks[i].Ended, o.Ends)
	}
	if a.Type == mapReduce {
		o.dependReduces()
	}
	o.dropUndone()
	any := false
	for i := range o.Kinds {
		k := &o.Kinds[i]
		any = any || len(k.Lives) > 0
		for _, l := range k.Lives {
			k.Held = k.Held || l.Ends == WithIt
		}
		if k.Held {
			for _, l := range k.Lives {
				o.Held += l.MS
			}
		}
	}
	o.Tail = max(now-max(o.last, o.begin), 0)
	o.span = max(o.last-max(o.granted, 0), 0)
	if o.granted >= 0 && (o.failed || !any) {
		o.Fixed = now - o.granted
	}
}

// dependReduces finds how long reduces ran after the last map.
func (o *open) dependReduces() {
	var last int64
	count, some := 0, false
	for i := range o.Kinds {
		k := &o.Kinds[i]
		k.Map, k.Reduce = k.Priority == mapTasks || k.Priority == failedMaps, k.Priority == reduceTasks
		some = some || k.Reduce
		for _, l := range k.Lives {
			if k.Map && (l.Ends == Done || l.Ends == Failed) {
				count++
				last = max(last, l.End)
			}
		}
	}
	if !some || count == 0 {
		return
	}
	o.Maps = count
	for i := range o.Kinds {
		if k := &o.Kinds[i]; k.Reduce {
			for j := range k.Lives {
				l := &k.Lives[j]
				switch {
				case l.Ends == CutOff || l.End <= last:
					l.Post = -1
				case l.Begin < last:
					l.Post = l.End - last
				default:
					l.Post = max(l.MS-StartUp, 0)
				}
			}
		}
	}
}

// dropUndone takes out what ran for nothing.
func (o *open) dropUndone() {
	for i := range o.Kinds {
		k := &o.Kinds[i]
		kept := k.Lives[:0]
		at := make(map[int]int, len(o.Running))
		for j, l := range k.Lives {
			if l.Ends != undone {
				at[j] = len(kept)
				kept = append(kept, l)
			}
		}
		if len(kept) == len(k.Lives) {
			continue
		}
		k.Lives = kept
		running := o.Running[:0]
		for _, s := range o.Running {
			if s.Kind == i {
				to, still := at[s.Life]
				if !still {
					continue
				}
				s.Life = to
			}
			running = append(running, s)
		}
		o.Running = running
	}
}

// finish is the application as it is part of the load.
func (a *app) finish() App {
	for i := range a.Attempts {
		t := &a.Attempts[i]
		if i < len(a.Attempts)-1 && t.Fixed < 0 {
			t.Fixed = t.Tail + t.span
		}
	}
	return a.App
}
