package play

import (
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/sim/whatif/load"
	"heddle/yarn/records"
)

// container is a container, or was one.
type container struct {
	live       bool
	generation int32 // of lives with this handle, and of changes of its end
	app        int32
	kind       int32 // -1: the ApplicationMaster's
	place      int32 // in state.running
	node       scheduler.NodeHandle
	life       load.Life
	part       *Part // of the label that its node had when it began
	size       records.Resource
	begun      int64
	ran        int64 // ms until since
	since      int64 // when it began to run, or to stand still
	stands     bool
	left       int64 // ms until it ends, if it runs; -1: it ends with its attempt
	waits      bool  // it is a reduce, and maps haven't ended
	counted    bool  // it is one of those that share work
}

// granted starts what a grant is for.
func (p *player) granted(d *drive.Decision) {
	app := p.byHandle[d.App]
	s := &p.apps[app]
	now := p.now()
	n := p.nodeOf(d.Node)
	s.asks.Served(d.Priority, d.AllocationRequestID, n.host, n.rack, d.Locality)
	out := &p.result.Apps[app]
	if s.phase == waiting {
		waited(p, out, n, now-s.begun)
		p.start(app, d.Container, d.Node, d.Resource, -1, load.Life{})
		s.master = d.Container
		p.driver.Identify(int32(s.index)+1, int64(out.Containers), true, d.Container)
		p.ready(app)
		return
	}
	k := s.kindOf(d.Priority, &d.Resource)
	life, asked := load.Life{MS: meanOf(s)}, now
	if k >= 0 {
		asked = s.kinds[k].waits.Grant(now)
		life = s.take(k)
	}
	waited(p, out, n, now-asked)
	p.start(app, d.Container, d.Node, d.Resource, k, life)
	p.driver.Identify(int32(s.index)+1, int64(out.Containers), false, d.Container)
}

// nodeOf is the node of a handle.
func (p *player) nodeOf(h scheduler.NodeHandle) *node { return &p.nodes[p.numbers[h]] }

// take is how long the next container of a kind runs. More of them than then run as long as those on average.
func (s *state) take(k int) load.Life {
	x, of := &s.kinds[k], &s.at.Kinds[k]
	if n := len(x.again); n > 0 {
		l := x.again[n-1]
		x.again = x.again[:n-1]
		return l
	}
	if x.next < len(of.Lives) {
		x.next++
		return of.Lives[x.next-1]
	}
	return average(of.Lives)
}

func average(lives []load.Life) load.Life {
	if len(lives) == 0 {
		return load.Life{}
	}
	l := load.Life{Ends: lives[len(lives)-1].Ends, Post: -1}
	for i := range lives {
		l.MS += lives[i].MS
	}
	l.MS /= int64(len(lives))
	return l
}

// mean is how long a container of an application runs of whose kind none did then.
func meanOf(s *state) int64 {
	var sum, n int64
	for i := range s.at.Kinds {
		for _, l := range s.at.Kinds[i].Lives {
			sum, n = sum+l.MS, n+1
		}
	}
	return sum / max(n, 1)
}

// start starts a container.
func (p *player) start(app int32, h scheduler.ContainerHandle, n scheduler.NodeHandle, size records.Resource, kind int, life load.Life) {
	for len(p.conts) <= int(h) {
		p.conts = append(p.conts, container{})
	}
	s, c := &p.apps[app], &p.conts[h]
	now := p.now()
	*c = container{
		live: true, generation: c.generation + 1, app: app, kind: int32(kind), place: int32(len(s.running)), node: n, life: life, size: size, begun: now, since: now, left: -1,
		part: partOf(p, p.nodeOf(n).label),
	}
	c.part.Containers++
	s.running = append(s.running, h)
	out := &p.result.Apps[app]
	out.Containers++
	if out.Granted < 0 {
		out.Granted = now
	}
	if kind < 0 {
		return
	}
	of := &s.at.Kinds[kind]
	if c.counted = of.Held; c.counted {
		p.share(app, 1)
	}
	if life.Ends == load.WithIt {
		return
	}
	c.left = p.faster(life.MS)
	if of.Reduce && s.at.Maps > 0 && life.Post >= 0 {
		c.left = p.faster(min(life.MS, life.Post+load.StartUp))
		if c.waits = s.maps < s.at.Maps; c.waits {
			s.reduces = append(s.reduces, h)
			return
		}
	}
	p.awaitEnd(h)
}

// awaitEnd enters when a container ends if it runs on.
func (p *player) awaitEnd(h scheduler.ContainerHandle) {
	c := &p.conts[h]
	c.generation++
	if c.left >= 0 && !c.stands && !c.waits {
		p.at(p.now()+c.left, completion{p}, int64(c.generation)<<32|int64(h))
	}
}

// completion ends a container.
type completion struct{ *player }

func (p completion) Handle(k int64) {
	h := scheduler.ContainerHandle(int32(uint32(k)))
	c := &p.conts[h]
	if !c.live || c.generation != int32(k>>32) {
		return
	}
	app, kind := c.app, c.kind
	s := &p.apps[app]
	ran := c.life.MS
	p.free(h, c.life.Ends == load.Failed)
	s.ended++
	if p.hasAble {
		tellProgress(p.player, s, ran)
	}
	if kind >= 0 && s.at.Kinds[kind].Map {
		if s.maps++; s.maps == s.at.Maps {
			p.mapsEnded(app)
		}
	}
	p.advance(app)
}

// tellProgress says how much of an application is done.
func tellProgress(p *player, s *state, ran int64) {
	var all int64
	for i := range s.at.Kinds {
		for _, l := range s.at.Kinds[i].Lives {
			all += l.MS
		}
	}
	s.finished += ran
	if all > 0 {
		p.driver.SetProgress(s.handle, min(float64(s.finished)/float64(all), 1))
	}
}

// mapsEnded has reduces end that have waited for maps.
func (p *player) mapsEnded(app int32) {
	s := &p.apps[app]
	list := s.reduces
	s.reduces = nil
	now := p.now()
	for _, h := range list {
		c := &p.conts[h]
		if !c.live || !c.waits || c.app != app {
			continue
		}
		c.waits = false
		done := c.ran
		if !c.stands {
			done += now - c.since
		}
		c.left = max(c.left-done, p.faster(c.life.Post))
		c.ran, c.since = done, now
		p.awaitEnd(h)
	}
}

// share has one more, or one less, of those work that share an attempt's work.
func (p *player) share(app int32, more int64) {
	s := &p.apps[app]
	now := p.now()
	s.work += (now - s.since) * s.workers
	s.since = now
	s.workers += more
	p.awaitWork(app)
}

func (p *player) awaitWork(app int32) {
	s := &p.apps[app]
	s.workGeneration++
	if s.workers > 0 && s.at.Held > 0 && s.at.Fixed < 0 {
		left := max(p.faster(s.at.Held)-s.work, 0)
		p.at(p.now()+(left+s.workers-1)/s.workers, workDone{p}, key(app, s.workGeneration))
	}
}

// workDone ends an attempt whose shared work is done.
type workDone struct{ *player }

func (p workDone) Handle(k int64) {
	app, generation := unkey(k)
	if s := &p.apps[app]; s.workGeneration == generation && s.phase == working {
		p.endAttempt(app)
	}
}

// settle counts what a container ran until now.
func (p *player) settle(c *container) {
	now := p.now()
	for _, out := range []*load.Outcome{&p.result.Apps[c.app], &c.part.Outcome} {
		if c.stands {
			out.SuspendMS += now - c.since
			continue
		}
		out.MemoryMS += (now - c.since) * c.size[records.Memory]
		out.WithinMS += max(min(now, p.load.End)-c.since, 0) * c.size[records.Memory]
		out.CoreMS += (now - c.since) * c.size[records.VCores]
	}
	if !c.stands {
		c.ran += now - c.since
		p.result.Series.ran(int(c.app), c.since, now, c.size[records.Memory])
	}
	c.since = now
}

// free ends a container.
func (p *player) free(h scheduler.ContainerHandle, failed bool) {
	c := &p.conts[h]
	s := &p.apps[c.app]
	p.settle(c)
	if c.counted && !c.stands {
		p.share(c.app, -1)
	}
	if c.stands {
		p.still--
	}
	c.live = false
	c.generation++
	last := s.running[len(s.running)-1]
	s.running[c.place], p.conts[last].place = last, c.place
	s.running = s.running[:len(s.running)-1]
	if failed {
		p.driver.Fail(h)
	} else {
		p.driver.Free(h)
	}
}

// lose ends a container whose work is lost, and asks for another.
func (p *player) lose(h scheduler.ContainerHandle, preempted bool) {
	c := &p.conts[h]
	app, kind, life, size := c.app, c.kind, c.life, c.size
	s := &p.apps[app]
	counted := c.counted
	p.free(h, false)
	for _, out := range []*load.Outcome{&p.result.Apps[app], &c.part.Outcome} {
		if out.LostMS += c.ran; preempted {
			out.Preempted++
		}
	}
	if kind < 0 { // the attempt is lost with it
		p.clear(app)
		s.restarted = true
		p.beginAttempt(app, s.index)
		return
	}
	if counted {
		s.work = max(s.work-c.ran, 0)
		p.awaitWork(app)
	}
	s.kinds[kind].again = append(s.kinds[kind].again, life)
	p.askAgain(app, s.at.Kinds[kind].Priority, size)
}

func (p *player) askAgain(app int32, priority int32, size records.Resource) {
	s := &p.apps[app]
	if p.load.Reask == 0 {
		p.enter(app, []load.Row{{Ask: s.likeAsk(priority, size)}})
		return
	}
	if len(s.again) == 0 {
		p.at(p.now()+p.load.Reask, reask{p}, key(app, s.generation))
	}
	s.again = append(s.again, load.Row{Ask: s.likeAsk(priority, size)})
}

// likeAsk is a request for one container as the application has made them.
func (s *state) likeAsk(priority int32, size records.Resource) scheduler.Ask {
	for i := range s.at.Asks {
		for _, r := range s.at.Asks[i].Rows {
			if r.Priority == priority && r.Capability == size && r.Name == scheduler.Any {
				r.Count = 1
				return r.Ask
			}
		}
	}
	return scheduler.Ask{Priority: priority, Name: scheduler.Any, Capability: size, Count: 1, RelaxLocality: true}
}

// pause suspends a container.
func (p *player) pause(d *drive.Decision) {
	c := &p.conts[d.Container]
	noteFor(p, d, false)
	p.result.Apps[c.app].Suspended++
	c.part.Suspended++
	if c.stands {
		return
	}
	before := c.ran
	p.settle(c)
	if c.left >= 0 {
		c.left = max(c.left-(c.ran-before), 0)
	}
	if c.stands = true; c.counted {
		p.share(c.app, -1)
	}
	p.still++
	p.awaitEnd(d.Container)
}

// resume has a container go on.
func (p *player) resume(h scheduler.ContainerHandle) {
	c := &p.conts[h]
	if !c.stands {
		return
	}
	p.settle(c)
	c.stands = false
	p.still--
	if c.counted {
		p.share(c.app, 1)
	}
	p.awaitEnd(h)
}

// goOn enters the containers of an attempt that ran when the record began.
func (p *player) goOn(app int32) {
	s := &p.apps[app]
	m := &s.at.Master
	if !p.nodes[m.Node].there {
		s.restarted = true
		p.askMaster(app)
		return
	}
	h := restoreOne(p, s, m, true)
	p.start(app, h, p.nodes[m.Node].handle, m.Size, -1, load.Life{})
	s.master = h
	p.restore(app) // before ready: without its containers it would seem to have done all that it asked for
	p.ready(app)
}

func restoreOne(p *player, s *state, x *load.Start, master bool) scheduler.ContainerHandle {
	app := p.byHandle[s.handle]
	h := p.driver.Restore(s.handle, p.nodes[x.Node].handle, x.Size, drive.Container{
		Attempt: int32(s.index) + 1, ID: int64(p.result.Apps[app].Containers) + 1, Priority: x.Priority, AM: master, Since: x.Since,
	})
	if len(x.Tags) > 0 {
		p.driver.SetTags(h, x.Tags)
	}
	return h
}

// restore enters the containers of an attempt that ran when the record began, but its ApplicationMaster's.
func (p *player) restore(app int32) {
	s := &p.apps[app]
	if s.restarted {
		return
	}
	s.phase = working
	for i := range s.at.Running {
		x := &s.at.Running[i]
		k := &s.kinds[x.Kind]
		k.next = max(k.next, x.Life+1)
		life := s.at.Kinds[x.Kind].Lives[x.Life]
		if !p.nodes[x.Node].there {
			k.again = append(k.again, life)
			p.askAgain(app, x.Priority, x.Size)
			continue
		}
		p.start(app, restoreOne(p, s, x, false), p.nodes[x.Node].handle, x.Size, x.Kind, life)
	}
}
