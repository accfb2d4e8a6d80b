package shorttasks

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"heddle/internal/pause"
	"heddle/nm/probe"
	"heddle/nm/staging"
	"heddle/yarn/token"
	"heddle/yarn/wire"
)

// scheduler is one that is connected. The Node's lock guards it.
type scheduler struct {
	n        *Node
	id       identity
	user     string
	tokens   []token.NamedToken // of file systems; it doesn't change
	conn     *wire.Conn
	jobs     map[uint64]*job
	runs     map[uint64]*run // by the number of the ask
	asked    uint64
	executor *executor     // nil: it has none at present
	failures int           // executors in a row that never connected
	since    time.Duration // it is connected
	size     probe.Amount  // of tasks; 0: none is known yet
	uneven   bool          // tasks have several sizes, or share the processors
	idle     time.Time     // since when it is idle; zero: it is busy

	outbox
	behind  time.Time // since when nothing is read from it, as it is behind with what it was told; zero: it isn't
	caught  time.Time // when it had caught up last
	parting time.Time // when it was sent away; zero: it wasn't
	why     error     // it was
}

// job is a job whose probes the node has.
type job struct {
	s      *scheduler
	id     uint64
	handle probe.Handle
	took   took
	quoted bool // that its probes have their turn until then. The node hasn't asked since
	until  time.Duration
	// submitted is when the tasks that wait were submitted, in the mean, by the node's clock.
	submitted time.Duration
	promise   time.Duration     // an input is in memory from then on, by a quote; 0: there was no such quote, or it is settled
	inputs    map[string]*input // that may be staged, by file; nil: there were none, or the job is over
	staging   staging.Job       // with inputs
	named     int32             // so many inputs were named so far
}

// run is an ask, or the task that has come for it.
type run struct {
	s        *scheduler
	id       uint64
	slot     probe.Slot
	job      *job
	at       time.Time // when it was asked
	bound    bool      // a task has come
	stopping bool
	task     *wire.Task // that has come before there was room for it
	input    *input     // in memory, which the task reads; nil: none
	checking bool       // it isn't known yet whether the task may read it
	due      bool       // there is room for the task, which begins when that is known
	handed   bool       // the executor has the task, and begins it when another one ends (hand)
	recalled time.Time  // when it was told to give it back; zero: it wasn't
	runs     bool       // the task runs
	// since is when the task began, and submitted is when it was submitted, by the node's clock.
	since, submitted time.Duration
}

// serveScheduler talks to a scheduler until one of them ends the connection.
func (n *Node) serveScheduler(c *wire.Conn, who token.NM) error {
	m, err := c.Receive()
	if err != nil {
		return err
	}
	greeting, ok := m.(*wire.Greeting)
	if !ok {
		return fmt.Errorf("%w: it begins with %T", wire.ErrMalformed, m)
	}
	s := &scheduler{
		n: n, id: identity{who.Attempt, greeting.Scheduler}, user: who.Submitter, conn: c,
		jobs: map[uint64]*job{}, runs: map[uint64]*run{}, outbox: newOutbox(),
	}
	tokens, why := tokensOf(greeting.Credentials)
	if s.tokens = tokens; why == "" {
		why = s.enter()
	}
	if why != "" {
		_ = c.Send(&wire.Refusal{Reason: why}) // the connection ends anyway
		return errors.New(why)
	}
	defer s.leave()
	c.Hasty()
	c.Large(s.mayAnswer)
	if err := n.o.Admitted(who); err != nil {
		_ = c.Send(&wire.Refusal{Reason: "the node can't store the application's token key"}) // likewise
		return err
	}
	n.serving.Go(func() { s.send(&n.mu, n.o.Now, c) })
	for {
		s.catchUp()
		m, err := c.Receive()
		if err == nil {
			err = s.take(m)
		} else if !errors.Is(err, wire.ErrTooLarge) {
			return cmp.Or(s.refused(), err)
		}
		if err != nil {
			n.mu.Lock()
			s.refuse(err.Error())
			n.mu.Unlock()
		}
	}
}

// partingLimit is how long a scheduler that is sent away may take to read why, and to hang up. Whatever it says meanwhile is read, and ignored: if the node hung up first, the system would
// throw away what the scheduler hasn't read yet.
const partingLimit = time.Second

// maxID is the longest id of a scheduler, in bytes. The node keeps it.
const maxID = 256

// maxCredentials is the most that a scheduler's tokens may take, in bytes. The node keeps them.
const maxCredentials = 64 << 10

// tokensOf returns the tokens in what a scheduler brings, or why they aren't taken.
func tokensOf(credentials []byte) (tokens []token.NamedToken, why string) {
	switch {
	case len(credentials) == 0:
		return nil, ""
	case len(credentials) > maxCredentials:
		return nil, fmt.Sprintf("credentials of %d bytes: a scheduler may have %d", len(credentials), maxCredentials)
	}
	c, err := token.DecodeCredentials(credentials)
	if err != nil {
		return nil, fmt.Sprintf("the scheduler's credentials are damaged: %v", err)
	}
	return c.Tokens, ""
}

// reader is who reads inputs of the scheduler's tasks.
func (s *scheduler) reader() Reader { return Reader{s.user, s.tokens} }

// enter lets a scheduler in, or says why not.
func (s *scheduler) enter() string {
	n := s.n
	n.mu.Lock()
	defer n.mu.Unlock()
	switch _, over := n.ended[s.id.attempt.App]; {
	case len(s.id.name) > maxID:
		return fmt.Sprintf("an id of %d bytes: a scheduler may have one of %d", len(s.id.name), maxID)
	case over:
		return fmt.Sprintf("%v is over", s.id.attempt.App)
	case n.schedulers[s.id] != nil:
		return fmt.Sprintf("a scheduler of %v with the id %.100q is connected already: each needs an id of its own",
			s.id.attempt, s.id.name)
	}
	if connected := n.schedulersOf(s.user); connected >= maxSchedulersOfUser {
		return fmt.Sprintf("user %.100s has reached the limit of %d connected schedulers", s.user, maxSchedulersOfUser)
	} else if len(n.schedulers) >= maxSchedulers && connected >= reservedSchedulers {
		return fmt.Sprintf("the node has reached the limit of connected schedulers: %d are connected", len(n.schedulers))
	}
	n.schedulers[s.id], n.untold[s], s.since = s, true, n.now()
	amount, _ := n.worker.Use()
	s.say(lent(amount))
	n.offerRoom()
	return ""
}

// schedulersOf counts a user's. The lock is held.
func (n *Node) schedulersOf(user string) (count int) {
	for _, s := range n.schedulers {
		if s.user == user {
			count++
		}
	}
	return count
}

// mayAnswer reports whether the node waits for a task, which may be large.
func (s *scheduler) mayAnswer() bool {
	s.n.mu.Lock()
	defer s.n.mu.Unlock()
	for _, r := range s.runs {
		if !r.bound {
			return !s.last
		}
	}
	return false
}

func lent(a probe.Amount) *wire.Lent {
	return &wire.Lent{MemoryMB: uint64(max(a.MemoryMB, 0)), VCores: uint64(max(a.VCores, 0))}
}

// leave forgets a scheduler whose connection has ended.
func (s *scheduler) leave() {
	n := s.n
	n.mu.Lock()
	defer n.mu.Unlock()
	s.finish()
	delete(n.schedulers, s.id)
	s.end()
}

// end removes a scheduler's probes. Its executor ends, and then the room of its tasks is free. The lock is held.
func (s *scheduler) end() {
	n := s.n
	delete(n.untold, s)
	all := make([]probe.Handle, 0, len(s.jobs))
	for _, j := range s.jobs {
		all = append(all, j.handle)
	}
	n.worker.Cancel(all...)
	for _, j := range s.jobs {
		j.dropInputs()
	}
	clear(s.jobs)
	for _, r := range s.runs {
		if !r.bound || r.task != nil || s.executor == nil {
			r.end()
		}
	}
	if s.executor != nil {
		s.executor.stop()
	}
	n.pump()
}

// refuse sends the reason and ends the connection. The lock is held.
func (s *scheduler) refuse(why string) {
	if !s.last {
		s.say(&wire.Refusal{Reason: why})
		s.last, s.parting, s.why = true, s.n.o.Now(), errors.New(why)
		s.end() // others get its room while it reads why
	}
}

// refused returns why a scheduler was sent away; nil: it wasn't.
func (s *scheduler) refused() error {
	s.n.mu.Lock()
	defer s.n.mu.Unlock()
	return s.why
}

// part ends the connection of a scheduler that was sent away and doesn't hang up. The lock is held.
func (s *scheduler) part(now time.Time) {
	if s.parting.IsZero() || now.Sub(s.parting) <= partingLimit {
		return
	}
	s.parting = time.Time{}
	s.n.serving.Go(s.conn.Close)
}

// maxUnsent is how many messages may wait for a scheduler before nothing more is read from it.
const maxUnsent = 4096

// catchUp waits while the scheduler is behind with what it was told: a program that submits many tasks at once sends faster than it reads. One that reads nothing at all is
// sent away (check).
func (s *scheduler) catchUp() {
	n := s.n
	for {
		n.mu.Lock()
		behind := len(s.unsent) > maxUnsent && !s.last
		if behind && s.behind.IsZero() {
			s.behind = n.o.Now()
		} else if !behind && !s.behind.IsZero() {
			s.behind, s.caught = time.Time{}, n.o.Now()
		}
		n.mu.Unlock()
		if !behind || pause.For(n.ctx, catchUpTime) != nil {
			return
		}
	}
}

// catchUpTime is how often it is looked whether a scheduler has read what it was told.
const catchUpTime = time.Millisecond

// behindLimit is how long a scheduler may read nothing while messages wait for it. Asks that it hasn't answered take room all the while.
const behindLimit = answerLimit

// take takes a message. An error is the scheduler's fault.
func (s *scheduler) take(m wire.Message) error {
	n := s.n
	n.mu.Lock()
	if s.last {
		n.mu.Unlock()
		return nil
	}
	switch m := m.(type) {
	case *wire.Probe:
		err := s.probe(m)
		n.pump()
		n.mu.Unlock()
		return err
	case *wire.Drop:
		if j := s.jobs[m.Job]; j != nil {
			delete(s.jobs, m.Job)
			j.dropInputs()
			n.worker.Cancel(j.handle)
			n.pump()
		}
	case *wire.NoTask:
		if r := s.runs[m.ID]; r != nil && !r.bound {
			r.answered()
			n.worker.Bind(r.slot, probe.None)
			r.job.heed(m.Preloads)
			s.learn(r.job, m.Left)
			r.end()
			n.pump()
		}
	case *wire.Task:
		s.bind(m)
		n.hand()
	case *wire.Cancel:
		s.cancel(m.ID)
	case *wire.Estimate:
		s.estimate(m)
	default:
		n.mu.Unlock()
		return fmt.Errorf("%w: a scheduler doesn't say %T", wire.ErrMalformed, m)
	}
	n.mu.Unlock()
	return nil
}

// learn records how many tasks of a job wait.
func (s *scheduler) learn(j *job, left uint64) {
	if left == 0 {
		s.n.jobs.SetLaunched(j.handle)
	} else {
		s.n.jobs.SetLeft(j.handle, int(min(left, maxTasks)))
	}
}

// Limits of what a job may be.
const (
	maxTasks    = 1 << 30
	maxEstimate = 1 << 50 // µs
	maxSize     = 1 << 40 // MiB, or vcores
	maxNice     = 1000
)

// sane refuses probes that make no sense, or of one more job than the node can have.
func (s *scheduler) sane(m *wire.Probe) error {
	switch {
	case m.Count == 0 || m.Count > maxTasks:
		return fmt.Errorf("%d probes of job %d at once: 1 to %d are possible", m.Count, m.Job, maxTasks)
	case m.Left == 0 || m.Left > maxTasks:
		return fmt.Errorf("probes of job %d, of which %d tasks wait: 1 to %d are possible", m.Job, m.Left, maxTasks)
	case m.MemoryMB == 0 || m.VCores == 0 || m.MemoryMB > maxSize || m.VCores > maxSize:
		return fmt.Errorf("tasks of job %d take %d MB and %d vcores: at least 1 of either is needed", m.Job, m.MemoryMB,
			m.VCores)
	case m.EstimateUS > maxEstimate:
		return fmt.Errorf("tasks of job %d are expected to take %d µs, more than %d", m.Job, m.EstimateUS,
			uint64(maxEstimate))
	case s.jobs[m.Job] == nil && len(s.jobs) >= maxJobs:
		return fmt.Errorf("the node has reached the limit of %d jobs whose probes wait or run", len(s.jobs))
	}
	return nil
}

// jobOf returns the job of probes, which may be new.
func (s *scheduler) jobOf(m *wire.Probe) *job {
	n := s.n
	size := probe.Amount{MemoryMB: int64(m.MemoryMB), VCores: int64(m.VCores)}
	if s.size == (probe.Amount{}) {
		s.size = size
	}
	s.uneven = s.uneven || s.size != size || m.Early
	j := s.jobs[m.Job]
	news := j == nil || n.jobs.Launched(j.handle) || m.WaitedUS > 0 // else it is of an earlier release, and tasks waited before
	if j == nil {
		share := n.o.Share(s.user)
		j = &job{s: s, id: m.Job, handle: n.jobs.Add(probe.Job{
			Estimate: microseconds(m.EstimateUS), Left: int(m.Left), User: n.userOf(s.user),
			Priority: share.Priority - int32(min(m.Nice, maxNice)), Weight: share.Weight,
			Size: size, Early: m.Early,
		})}
		for len(n.of) <= int(j.handle) {
			n.of = append(n.of, nil)
		}
		n.of[j.handle], s.jobs[m.Job] = j, j
	}
	if news {
		j.submitted = s.submittedAt(m.WaitedUS)
	}
	j.took.say(microseconds(m.EstimateUS))
	j.reestimate(&j.took)
	n.untold[s] = true
	n.jobs.SetLeft(j.handle, int(m.Left))
	return j
}

// probe takes probes of a job.
func (s *scheduler) probe(m *wire.Probe) error {
	if err := s.sane(m); err != nil {
		return err
	}
	n, j := s.n, s.jobOf(m)
	v := &wire.Verdict{Job: m.Job}
	if m.Avoid && n.worker.HasLong() {
		v.Rejected, v.Long, v.Reason = m.Count, true, probe.HasLong.String()
		n.counts.Avoided += int64(m.Count)
		s.say(v)
		return nil
	}
	var q probe.Quote
	var claims []*wire.Ask
	for range m.Count {
		verdict := n.worker.Offer(j.handle)
		if verdict != probe.Accepted {
			v.Rejected, v.Reason = m.Count-v.Accepted, verdict.String()
			break
		}
		if v.Accepted == 0 && !m.Early { // else each has its turn now
			q = n.worker.Quote(j.handle)
		}
		if m.Early {
			a, load := n.worker.Claim(n.now(), j.handle)
			ask := s.ask(a)
			ask.Bound, ask.VCores = uint64(load.Bound), uint64(load.Of)
			claims = append(claims, ask)
		} else {
			n.worker.Add(j.handle)
		}
		v.Accepted++
	}
	if v.Accepted > 0 {
		j.preload(false, m.Inputs...)
		v.P50US, v.P95US = uint64(q.P50.Microseconds()), uint64(q.P95.Microseconds())
		if !j.quoted && !m.Early {
			j.quoted, j.until = true, n.now()+q.P95
		}
		if v.Memory = !m.Early && j.inMemoryBy(m.Inputs, q.P50); v.Memory && j.promise == 0 {
			j.promise = n.now() + q.P50
		}
		s.idle = time.Time{}
		if s.executor == nil {
			s.start() // so that it is there when the first task comes
		}
	}
	s.say(v)
	for _, ask := range claims {
		s.say(ask)
	}
	return nil
}

// ask returns the message for an ask, whose answer is waited for from now on. The lock is held.
func (s *scheduler) ask(a probe.Ask) *wire.Ask {
	n, j := s.n, s.n.of[a.Job]
	s.asked++
	r := &run{s: s, id: s.asked, slot: a.Slot, job: j, at: n.o.Now()}
	for len(n.runs) <= int(a.Slot) {
		n.runs = append(n.runs, nil)
	}
	n.runs[a.Slot], s.runs[r.id] = r, r
	return &wire.Ask{ID: r.id, Job: j.id, Others: uint64(n.worker.Others()), Staged: j.inMemory()}
}

// userOf returns the number of a user.
func (n *Node) userOf(name string) int32 {
	u, known := n.users[name]
	if !known {
		u = int32(len(n.users))
		n.users[name] = u
	}
	return u
}

// pump asks for tasks as long as there is room, and ends clones that are in the way. The lock is held.
func (n *Node) pump() {
	for {
		slot, ok := n.worker.Start(n.now())
		if !ok {
			break
		}
		n.runs[slot].start()
	}
	n.hand()
	n.worker.SetAhead(n.pace.ahead(n.now()))
	for {
		ask, ok := n.worker.Next(n.now())
		if !ok {
			break
		}
		j := n.of[ask.Job]
		j.settle(n.now())
		j.s.say(j.s.ask(ask))
	}
	n.offerRoom()
	if slot, ok := n.worker.Crowding(); ok && n.ctx.Err() == nil {
		if r := n.runs[slot]; !r.stopping && r.s.executor != nil {
			r.s.cancel(r.id)
		}
	}
}

// offerRoom tells schedulers that nothing waits here, if so, and if they have sent a probe since they were told last. The lock is held.
func (n *Node) offerRoom() {
	if !n.o.Steal || len(n.untold) == 0 {
		return
	}
	lent, used := n.worker.Use()
	memory, vcores := lent.MemoryMB-used.MemoryMB, lent.VCores-used.VCores
	if _, waiting := n.worker.Queued(); waiting > 0 || memory <= 0 || vcores <= 0 {
		return
	}
	for s := range n.untold {
		s.say(&wire.Idle{MemoryMB: uint64(memory), VCores: uint64(vcores)})
	}
	clear(n.untold)
}

// settle counts whether a quote of the job has come true, as the node asks for a task of it now. The lock is held.
func (j *job) settle(now time.Duration) {
	j.settlePromise(now)
	if !j.quoted {
		return
	}
	j.quoted = false
	c := &j.s.n.counts
	c.Quotes++
	if now > j.until {
		c.Broken++
	}
}

// end frees the room of a run. The lock is held.
func (r *run) end() {
	r.leaveInput()
	n := r.s.n
	if r.bound && !n.worker.Early(r.slot) {
		n.pace.freed(n.now())
	}
	n.worker.Free(n.now(), r.slot)
	n.runs[r.slot] = nil
	delete(r.s.runs, r.id)
}

// bind gives an ask its task. The lock is held.
func (s *scheduler) bind(m *wire.Task) {
	r, n := s.runs[m.ID], s.n
	if r == nil || r.bound {
		return // it isn't waited for: the scheduler took too long, and has been told so
	}
	r.answered()
	answer := probe.Task
	if m.Clone {
		answer = probe.Clone
	}
	r.bound, r.task = true, m
	r.noteWait(m)
	r.takeInput(m) // before another task is told of it
	r.job.heed(m.Preloads)
	m.Preloads = wire.Preloads{}
	n.worker.Bind(r.slot, answer)
	s.learn(r.job, m.Left)
	switch early := n.worker.Early(r.slot); {
	case n.overloaded(r):
		r.giveBack() // there may be memory for it elsewhere
		n.pump()
	case early && m.Clone:
		r.giveBack() // it would be in the way of others
		n.pump()
	case !early:
		r.start()
	}
}

// answered records how long an answer took. With early binding a scheduler compares nodes meanwhile. The lock is held.
func (r *run) answered() {
	if n := r.s.n; !n.jobs.Of(r.job.handle).Early {
		n.pace.answered(n.o.Now().Sub(r.at))
	}
}

// outstays reports whether a task that has no room should run elsewhere: it was asked for ahead and waits for too long, or it can't have room here any more. The lock is held.
func (r *run) outstays(now time.Time) bool {
	n := r.s.n
	return r.task != nil && !r.due && (n.worker.Hopeless(r.slot) || now.Sub(r.at) > aheadLimit && !n.jobs.Of(r.job.handle).Early)
}

// start makes the executor run the task. The lock is held.
func (r *run) start() {
	if r.due = r.checking; r.due {
		return
	}
	s, m := r.s, r.task
	if r.handed {
		r.begun()
		s.executor.say(&wire.Begin{ID: r.id})
		return
	}
	r.begun()
	if s.executor == nil {
		s.start()
	}
	if s.executor == nil { // it can't be started, and the connection ends
		r.end()
		return
	}
	s.executor.say(m)
}

// begun records that a task begins. The lock is held.
func (r *run) begun() {
	n := r.s.n
	r.since, r.runs = n.now(), true
	if !r.task.Clone {
		n.counts.Started++
		n.counts.Waited += r.since - r.submitted
	}
	r.task, r.handed = nil, false
}

// noteWait records when a task was submitted that has come. Those behind it were not before it. The lock is held.
func (r *run) noteWait(m *wire.Task) {
	r.submitted = r.job.submitted
	if m.WaitedUS > 0 {
		r.submitted = r.s.submittedAt(m.WaitedUS)
		r.job.submitted = max(r.job.submitted, r.submitted)
	}
}

// giveBack ends a run whose task hasn't started: it is to run elsewhere. The lock is held.
func (r *run) giveBack() {
	if r.handed {
		r.recall()
		return
	}
	r.task = nil
	r.s.say(&wire.Ended{ID: r.id, Why: wire.Canceled})
	r.end()
}

// cancel ends a task. The lock is held.
func (s *scheduler) cancel(id uint64) {
	r := s.runs[id]
	switch {
	case r == nil || !r.bound || r.stopping: // there is nothing to end, or it was told so before
	case r.task != nil && !r.handed:
		r.giveBack()
		s.n.pump()
	case s.executor != nil:
		r.stopping = true
		if r.handed {
			r.recalled = s.n.o.Now()
		}
		s.executor.cancel(id)
	}
}

// check looks what is late. The lock is held.
func (s *scheduler) check(now time.Time) {
	if s.last {
		s.part(now)
		return
	}
	if !s.behind.IsZero() && now.Sub(later(s.behind, s.wrote)) > behindLimit {
		s.refuse(fmt.Sprintf("it says more than it reads: %d messages wait, and it has read none for %v", len(s.unsent), behindLimit))
		return
	}
	late := false
	for _, r := range s.runs {
		if !r.bound && s.behind.IsZero() && now.Sub(later(r.at, s.caught)) > answerLimit { // while it is behind its answers aren't read
			s.refuse(fmt.Sprintf("it hasn't answered within %v when it was asked for a task", answerLimit))
			return
		}
		switch {
		case r.overdue(now):
			r.disown()
			late = true
		case r.outstays(now):
			r.giveBack() // there may be room elsewhere
			late = true
		}
	}
	if late {
		s.n.pump() // requests behind it may have room
	}
	switch {
	case s.executor == nil || len(s.runs) > 0 || len(s.jobs) > 0:
		s.idle = time.Time{}
	case s.idle.IsZero():
		s.idle = now
	case now.Sub(s.idle) > idleLimit:
		s.executor.stop()
		s.executor = nil // a task that comes now gets another one
	}
}
