package shorttasks

import (
	"context"
	"slices"

	"heddle/yarn/wire"
)

// Stager copies inputs of tasks to memory.
type Stager interface {
	// Stage copies a file with a user's rights, and returns the copy's name and what removes it. It fails if the file can't be staged, or there
	// is no room for it: tasks then read the file itself.
	Stage(ctx context.Context, user, file string) (path string, remove func(), err error)
	// Holds reports whether a copy can still be read by its path.
	Holds(path string) bool
}

// InputVariable is the environment variable by which a task learns where its input is in memory. It isn't set if that is nowhere.
const InputVariable = "HEDDLE_STAGED_INPUT"

// Limits of what is staged.
const (
	mostCopying = 10 // copies under way at a time (Eirene's CM)
	mostInputs  = 64 // of a job, at a time
)

// input is a file that is in memory, or on its way there. The Node's lock guards it.
type input struct {
	job    *job
	file   string
	path   string // of the copy; "" while it is made
	remove func()
	users  int // tasks that read it
	gone   bool
	cancel context.CancelFunc
}

// stage begins to copy files that aren't known. The lock is held.
func (j *job) stage(files []string) {
	n := j.s.n
	if n.o.Stager == nil || n.ctx.Err() != nil {
		return
	}
	for _, file := range files {
		if file == "" || j.inputs[file] != nil || len(j.inputs) >= mostInputs {
			continue
		}
		if j.inputs == nil {
			j.inputs = map[string]*input{}
		}
		ctx, cancel := context.WithCancel(n.ctx)
		in := &input{job: j, file: file, cancel: cancel}
		j.inputs[file] = in
		n.serving.Go(func() {
			defer cancel()
			in.copy(ctx)
		})
	}
}

// copy makes the copy. If that fails, nothing more is done about it: the task reads the file itself.
func (in *input) copy(ctx context.Context) {
	n := in.job.s.n
	select {
	case n.copying <- struct{}{}:
	case <-ctx.Done():
		return
	}
	path, remove, err := n.o.Stager.Stage(ctx, in.job.s.user, in.file)
	<-n.copying
	if err != nil {
		if ctx.Err() == nil {
			n.log.WithError(err).Debugf("%s is not staged", in.file)
		}
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	in.path, in.remove = path, remove
	if in.gone {
		remove()
	}
}

// staged are the files that a task could read in memory. The lock is held.
func (j *job) staged() (files []string) {
	for file, in := range j.inputs {
		if in.path != "" && in.users == 0 {
			files = append(files, file)
		}
	}
	slices.Sort(files)
	return files
}

// takeInput tells a task where its input is. One that isn't in memory yet isn't waited for, and one that has got lost isn't named: neither is of use any more. The lock is held.
func (r *run) takeInput(m *wire.Task) {
	n := r.s.n
	if m.Input == "" || n.o.Stager == nil {
		return
	}
	in := r.job.inputs[m.Input]
	if in == nil || in.path == "" || !n.o.Stager.Holds(in.path) {
		n.counts.Misses++
		if in != nil {
			in.drop()
		}
		return
	}
	n.counts.Hits++
	in.users++
	r.input = in
	m.Env = append(m.Env, InputVariable+"="+in.path)
}

// leaveInput removes a copy that the last of its readers has read. The lock is held.
func (r *run) leaveInput() {
	in := r.input
	if in == nil {
		return
	}
	r.input = nil
	if in.users--; in.users == 0 {
		in.drop()
	}
}

// drop removes a copy that nobody reads, or ends its making. The lock is held.
func (in *input) drop() {
	if in.gone {
		return
	}
	in.gone = true
	in.cancel()
	if in.job.inputs[in.file] == in {
		delete(in.job.inputs, in.file)
	}
	if in.path != "" {
		in.remove()
	}
}

// dropInputs removes the copies of a job but for those that tasks read. The lock is held.
func (j *job) dropInputs() {
	for _, in := range j.inputs {
		if in.users == 0 {
			in.drop()
		}
	}
}
