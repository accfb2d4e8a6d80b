package shorttasks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"heddle/nm/staging"
	"heddle/yarn/token"
	"heddle/yarn/wire"
)

// Stager copies inputs of tasks to memory.
type Stager interface {
	// Capacity returns how many bytes there can be.
	Capacity() int64
	// Look returns how much memory a copy of a file takes, in bytes, above 0. It fails if the reader may not know, or the file can't be staged.
	Look(ctx context.Context, who Reader, file string) (size int64, err error)
	// Preload copies a file of this size with a reader's rights, and returns the copy's name and what removes it. It fails if the file can't be staged, has
	// changed, or there is no room for it: tasks then read the file itself.
	Preload(ctx context.Context, who Reader, file string, size int64) (path string, remove func(), err error)
	// Current fails unless a reader may read a copy in place of the file now: the reader may read the file, it is what was copied, and the copy is still there.
	Current(ctx context.Context, who Reader, file, path string) error
}

// Reader is a user with the tokens of a scheduler.
type Reader struct {
	User   string
	Tokens []token.NamedToken
}

// Limits of what is staged.
const (
	copiesAtATime = 10           // Eirene's CM, at most
	maxLooking    = 4            // sizes that are asked for at a time
	maxInputs     = 64           // of a job, at a time
	maxKnown      = 8192         // of all jobs
	maxOfOne      = maxKnown / 2 // of one user
	keptForOne    = maxInputs    // of a user, if others have taken all
	longestName   = 8000         // bytes of a file's name; a NameNode takes no longer ones unless it is told to
	// checkLimit is how long a task waits until it is known whether its input is what was copied. Its own reader would ask the NameNode as well.
	checkLimit = 500 * time.Millisecond
	// checkPause is the pause in asking after such an answer didn't come: otherwise each task would wait for checkLimit while a NameNode hangs.
	checkPause = 5 * time.Second
	// maxWay is for how long at most a copy less is made as a task reads its own input.
	maxWay = time.Second
)

// staged carries out the rules of package staging on a node. The Node's lock guards it.
type staged struct {
	rules   *staging.Manager
	inputs  map[place]*input
	known   map[string]int // of these, by user
	jobs    staging.Job    // so many had inputs
	looking chan struct{}

	source   staging.Source
	promises staging.Promises
	each     time.Duration // time of a copy, from when its size is asked for: a moving mean. 0: none was made yet
	size     int64         // bytes of the newest copy
	reading  int           // tasks that read their own input: each has the place of a copy
	silent   time.Duration // until then there is no check whether a copy is current: the last answer didn't come in time
}

// place is an input's place in the rules.
type place struct {
	job  staging.Job
	task int32
}

// input is a file that is in memory, or may come there.
type input struct {
	at     place
	job    *job
	file   string
	size   int64
	waits  bool   // a task that reads it waits, as far as known
	path   string // of the copy; "" while there is none
	remove func()
	users  int                // tasks that read the copy
	cancel context.CancelFunc // of the copy that is being made; nil: none is
	began  time.Duration      // when it began to be made
}

// table answers the rules' questions about a job's inputs.
type table struct {
	of  *staged
	job staging.Job
}

func (table) Tasks() int { return 0 } // the scheduler draws

func (table) Next(int32) int32 { return 0 }

func (t table) Waits(task int32) bool {
	in := t.of.inputs[place{t.job, task}]
	return in != nil && in.waits
}

func (t table) Size(task int32) int64 {
	if in := t.of.inputs[place{t.job, task}]; in != nil {
		return in.size
	}
	return 0
}

func newStaged(s Stager) *staged {
	if s == nil {
		return nil
	}
	// Nothing is drawn here.
	st := &staged{
		rules:  staging.New(staging.Config{Concurrent: copiesAtATime, Capacity: s.Capacity(), Named: true}, nil),
		inputs: map[place]*input{}, known: map[string]int{}, looking: make(chan struct{}, maxLooking),
	}
	st.limit()
	return st
}

// limit has as many copies made at a time as the source is worth, less those whose place a task has that reads its own input.
func (st *staged) limit() { st.rules.Limit(max(1, st.source.Copies()-st.reading)) }

// takes reports whether one more input of a user may be known.
func (st *staged) takes(user string) bool {
	his := st.known[user]
	return his < maxOfOne && (len(st.inputs) < maxKnown || his < keptForOne)
}

// preload has files staged that aren't known yet. fast: before those that wait, as a task will soon begin that may read it. The lock is held.
func (j *job) preload(fast bool, files ...string) {
	n := j.s.n
	st := n.staged
	if st == nil || n.ctx.Err() != nil {
		return
	}
	for _, file := range files {
		if file == "" || len(file) > longestName {
			continue
		}
		if in := j.inputs[file]; in != nil {
			in.waits = true
			st.rules.Wanted(in.at.job, in.at.task, fast)
			continue
		}
		if len(j.inputs) >= maxInputs || !st.takes(j.s.user) {
			continue
		}
		if j.inputs == nil {
			j.inputs = map[string]*input{}
			st.jobs++
			j.staging = st.jobs
			st.rules.Probed(j.staging, table{st, j.staging})
			st.rules.Own(j.staging, n.userOf(j.s.user), n.o.Share(j.s.user).Priority)
		}
		j.named++
		in := &input{at: place{j.staging, j.named}, job: j, file: file, waits: true}
		j.inputs[file], st.inputs[in.at] = in, in
		st.known[j.s.user]++
		n.serving.Go(func() { in.look(fast) })
	}
	n.doStaging()
}

// look finds out how large a file is, and has it staged. One that can't be staged is forgotten: the task reads the file itself.
func (in *input) look(fast bool) {
	n := in.job.s.n
	st := n.staged
	select {
	case st.looking <- struct{}{}:
	case <-n.ctx.Done():
		return
	}
	size, err := n.o.Stager.Look(n.ctx, in.job.s.reader(), in.file)
	<-st.looking
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case st.inputs[in.at] != in: // its job is over
	case err != nil:
		n.log.WithError(err).Debugf("%s is not preloaded", in.file)
		in.forget()
	default:
		in.size = size
		st.rules.Wanted(in.at.job, in.at.task, fast)
		n.doStaging()
	}
}

// doStaging does what the rules say is to be done now. The lock is held.
func (n *Node) doStaging() {
	st := n.staged
	for st != nil && st.reading < st.source.Copies() {
		a, more := st.rules.Next()
		if !more {
			return
		}
		in := st.inputs[place{a.Job, a.Task}]
		switch {
		case in == nil && !a.Delete: // can't be: what is forgotten isn't in the queues
			st.rules.Copied(a.Job, a.Task, false)
		case in == nil:
		case a.Delete:
			if in.path != "" {
				in.path = ""
				in.remove()
			}
			if !in.waits {
				in.forget()
			}
		default:
			ctx, cancel := context.WithCancel(n.ctx)
			in.cancel, in.began = cancel, n.now()
			st.source.Began(in.began)
			n.serving.Go(func() { in.copy(ctx) })
		}
	}
}

// copy makes the copy. If that fails, it isn't tried again.
func (in *input) copy(ctx context.Context) {
	n := in.job.s.n
	path, remove, err := n.o.Stager.Preload(ctx, in.job.s.reader(), in.file, in.size)
	n.mu.Lock()
	defer n.mu.Unlock()
	if err != nil && ctx.Err() == nil {
		n.log.WithError(err).Debugf("%s is not preloaded", in.file)
	}
	in.cancel()
	in.cancel = nil
	now, bytes := n.now(), int64(0)
	if err == nil {
		in.path, in.remove, bytes = path, remove, in.size
		n.staged.learn(now-in.began, in.size)
	}
	n.staged.source.Copied(now, bytes, copiesAtATime)
	n.staged.limit()
	n.staged.rules.Copied(in.at.job, in.at.task, err == nil)
	n.doStaging()
}

// forget drops an input of which the rules know nothing any more, or soon won't. The lock is held.
func (in *input) forget() {
	st := in.job.s.n.staged
	st.rules.Ended(in.at.job, in.at.task) // if it has failed, it is still known there
	if st.inputs[in.at] == in {
		delete(st.inputs, in.at)
		if user := in.job.s.user; st.known[user] > 1 {
			st.known[user]--
		} else {
			delete(st.known, user)
		}
	}
	if in.job.inputs[in.file] == in {
		delete(in.job.inputs, in.file)
	}
}

// inMemory returns the files that a task could read in memory. The lock is held.
func (j *job) inMemory() (files []string) {
	st := j.s.n.staged
	if st == nil || j.inputs == nil {
		return nil
	}
	for _, task := range st.rules.Staged(j.staging, nil) {
		files = append(files, st.inputs[place{j.staging, task}].file)
	}
	slices.Sort(files)
	return files
}

// heed records what a scheduler's answer says of a job's inputs. Inputs without a waiting task of it make room for others first. The lock is held.
func (j *job) heed(m wire.Preloads) {
	for _, file := range m.Gone {
		if in := j.inputs[file]; in != nil {
			in.waits = false
		}
	}
	if m.Next != "" && j.s.jobs[j.id] == j {
		j.preload(true, m.Next)
	}
}

// takeInput begins a task with its input in memory, if that is there. One that isn't in memory yet isn't waited for: it is of no use any more. The lock is held.
func (r *run) takeInput(m *wire.Task) {
	n, j := r.s.n, r.job
	if m.Input == "" || n.staged == nil {
		return
	}
	in := j.inputs[m.Input]
	if in == nil {
		n.counts.Misses++
		n.giveWay()
		return
	}
	in.waits = false
	hit := n.staged.rules.Took(in.at.job, in.at.task, table{n.staged, in.at.job})
	if !hit || n.now() < n.staged.silent {
		n.counts.Misses++
		n.giveWay()
		if in.users == 0 {
			in.drop()
		}
		return
	}
	n.staged.rules.Probed(in.at.job, table{n.staged, in.at.job}) // its input stays, also after the job's last probe has gone
	in.users++
	r.input, r.checking = in, true
	path := in.path
	n.serving.Go(func() { r.check(m, path) })
}

// giveWay makes one copy fewer for about as long as a task needs to read its own input: else it would wait for the disk behind inputs of tasks that begin later. The lock
// is held.
func (n *Node) giveWay() {
	st := n.staged
	if st.each == 0 || st.reading >= st.source.Copies() {
		return
	}
	st.reading++
	st.limit()
	way := time.NewTimer(min(st.each, maxWay))
	n.serving.Go(func() {
		select {
		case <-way.C:
		case <-n.ctx.Done():
			way.Stop()
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		st.reading--
		st.limit()
		if n.ctx.Err() == nil {
			n.doStaging()
		}
	})
}

// check names the copy to the task if it may be read in place of the file. Since it was made, rights may have been taken away, the file may have changed, and the
// disk may have got lost.
func (r *run) check(m *wire.Task, path string) {
	n := r.s.n
	ctx, cancel := context.WithTimeout(n.ctx, checkLimit)
	defer cancel()
	err := n.o.Stager.Current(ctx, r.s.reader(), m.Input, path)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if r.s.runs[r.id] != r {
		return // it was given back meanwhile
	}
	r.checking = false
	if err == nil {
		n.counts.Hits++
		m.Env = append(m.Env, wire.InputVariable+"="+path)
	} else {
		n.log.WithError(err).Debugf("the copy of %s is not read", m.Input)
		if errors.Is(err, context.DeadlineExceeded) {
			n.staged.silent = n.now() + checkPause
		}
		n.counts.Misses++
		r.leaveInput()
	}
	if r.due {
		r.start()
	}
}

// leaveInput removes a copy that the last of its readers has read. The lock is held.
func (r *run) leaveInput() {
	in := r.input
	if in == nil {
		return
	}
	r.input = nil
	st := r.s.n.staged
	if in.users--; in.users == 0 {
		in.drop()
	}
	st.rules.Released(in.at.job)
	r.s.n.doStaging()
}

// drop is for an input that no task reads any more: its copy goes, or isn't made. The lock is held.
func (in *input) drop() {
	n := in.job.s.n
	in.waits = false
	n.staged.rules.Ended(in.at.job, in.at.task)
	switch {
	case in.cancel != nil:
		in.cancel() // and Copied follows
	case in.path == "":
		in.forget()
	}
	n.doStaging()
}

// dropInputs has the copies of a job go, when the last of those that are read isn't read any more. The lock is held.
func (j *job) dropInputs() {
	st := j.s.n.staged
	if j.inputs == nil {
		return
	}
	all := j.inputs
	j.inputs = nil
	for _, in := range all {
		in.waits = false
		if in.cancel != nil {
			in.cancel()
		} else if in.path == "" {
			in.forget()
		}
	}
	st.rules.Released(j.staging)
	j.s.n.doStaging()
}
