package raft

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	hraft "github.com/hashicorp/raft"

	"heddle/rm/raft/promise"
	"heddle/rm/raft/witness"
)

// stateName is the file of what a witness has promised. The file beside it (promiseName) tells whether this one is an older copy.
const stateName = "state"

// Witness is a running witness.
type Witness struct {
	cfg     Config
	dir     *folder
	memory  *memory
	opened  bool // it answers requests
	file    *witness.File
	part    *witness.Participant
	stream  *stream
	network *hraft.NetworkTransport
}

// OpenWitness opens the state of a witness. cfg.ID must be WitnessID, and cfg.Members its group with the witness. Run must be called next.
func OpenWitness(cfg Config) (*Witness, error) {
	dir, err := lockDir(cfg.Dir, identity{Role: "witness", ID: cfg.ID, Cluster: cfg.Cluster})
	if err != nil {
		return nil, err
	}
	w := &Witness{cfg: cfg, dir: dir}
	if err := w.open(); err != nil {
		return nil, errors.Join(fmt.Errorf("the witness in %s: %w", cfg.Dir, err), w.close())
	}
	return w, nil
}

func (w *Witness) open() error {
	var state witness.State
	var err error
	if w.memory, err = openMemory(w.cfg.Dir, w.cfg.Log); err != nil {
		return err
	}
	if w.file, state, err = witness.OpenFile(filepath.Join(w.cfg.Dir, stateName)); err != nil {
		return err
	}
	advertised := w.cfg.member(w.cfg.ID).Address
	w.stream = newStream(&w.cfg, advertised, w)
	if state, err = w.recall(state); err != nil {
		return err
	}
	w.part = witness.New(witness.Options{
		Self: string(serverID(w.cfg.ID, w.dir.identity().Incarnation)), Address: advertised, State: state, Save: w.save,
		Patience: cmp.Or(w.cfg.LeaseTimeout, hraft.DefaultConfig().LeaderLeaseTimeout), Now: time.Now,
	})
	w.network = newNetwork(w.stream, newLogger(w.cfg.Log))
	w.network.SetHeartbeatHandler(w.part.Heartbeat)
	w.opened = true
	return nil
}

// recall finds out whether the folder has forgotten what this witness promised, as Node's recall does. Then the witness becomes a new one, without a
// vote until a leader has taken it in.
func (w *Witness) recall(state witness.State) (witness.State, error) {
	if err := w.memory.opened(state.Last, state.Term); err != nil {
		return state, err
	}
	held := *w.memory.held.Load()
	own := w.memory.Page().Own
	own.Start = promise.Start{}
	var found error
	if said := w.dir.identity().Forgotten; said != "" {
		found = errors.New(said)
	} else if found = held.Judge("its own record beside the state", own); found == nil && state.Term > 0 {
		found = w.recallFromOthers(held)
	}
	if found == nil {
		return state, nil
	}
	w.cfg.Log.WithError(found).Error("the state folder of this witness is an older copy, or its disk has lost something: it starts again, and has no vote until the leader accepts it")
	return w.forget(found.Error())
}

func (w *Witness) recallFromOthers(held promise.Held) error {
	ctx, cancel := context.WithTimeout(context.Background(), recallPatience)
	defer cancel()
	known := make([]promise.Known, len(w.cfg.Members))
	var asking sync.WaitGroup
	for i, m := range w.cfg.Members {
		if m.Witness() {
			continue
		}
		asking.Go(func() {
			if s, err := w.stream.ask(ctx, m); err == nil { // those that can be reached
				known[i] = s.known
			}
		})
	}
	asking.Wait()
	for i, k := range known {
		if err := held.Judge(w.cfg.Members[i].ID, k); err != nil {
			return err
		}
	}
	return nil
}

// forget makes this witness a new one. It may be interrupted at any point.
func (w *Witness) forget(why string) (state witness.State, err error) {
	was := w.dir.identity().Incarnation
	if err := w.dir.change(func(me *identity) { me.Forgotten = why }); err != nil {
		return state, err
	}
	path := filepath.Join(w.cfg.Dir, stateName)
	err = errors.Join(w.file.Close(), os.Rename(path, filepath.Join(w.cfg.Dir, asidePrefix+was)))
	if err == nil {
		w.file, state, err = witness.OpenFile(path)
	}
	if err != nil {
		return state, err
	}
	page := w.memory.Page()
	w.memory.begin(promise.Page{Own: promise.Known{Start: page.Own.Start}, Peers: page.Peers})
	if err := w.memory.opened(0, 0); err != nil {
		return state, err
	}
	return state, w.dir.change(func(me *identity) { me.Incarnation, me.Group, me.Forgotten = newIncarnation(), "", "" })
}

// save writes what the witness promises, and notes it beside.
func (w *Witness) save(next witness.State) error {
	was := w.part.Report().State
	if next.Replaces(was) {
		w.memory.CutBy(next.Term, next.Commit)
		if err := w.memory.write(w.memory.Page()); err != nil {
			return err
		}
	}
	if err := w.file.Save(next); err != nil {
		return err
	}
	w.memory.Stored(next.Last, next.Term)
	w.memory.Committed(next.Commit)
	return nil
}

// Run answers the group's members until ctx ends. It returns an error when the witness can't continue: a leader's log contradicts what was committed, or
// the disk has failed. It closes the witness.
func (w *Witness) Run(ctx context.Context) error {
	served := make(chan struct{})
	go func() {
		defer close(served)
		w.stream.serve()
	}()
	watched := make(chan struct{})
	watching, stop := context.WithCancel(ctx)
	go func() {
		defer close(watched)
		w.watch(watching)
	}()
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		w.memory.keep(watching.Done())
	}()
	err := w.part.Serve(w.network.Consumer(), ctx.Done())
	stop()
	<-watched
	<-kept
	err = errors.Join(err, w.close())
	<-served
	if errors.Is(err, witness.ErrHalted) {
		return fmt.Errorf("%w. The witness has stopped, and keeps its state in %s: a member of the group has lost entries that the others had committed. "+
			"Find out which one (heddle rmadmin -members), and start it with an empty state folder", err, w.cfg.Dir)
	}
	return err
}

// watchInterval is how often the log names the leader that the witness follows, if that has changed.
const watchInterval = time.Second

// watch logs changes that an administrator wants to see.
func (w *Witness) watch(ctx context.Context) {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	leader := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if !w.hasVote() {
			w.announce(ctx)
		}
		s := w.status()
		if s.Leader == leader {
			continue
		}
		leader = s.Leader
		log := w.cfg.Log.WithField("entries", s.Last)
		if leader == "" {
			log.Warn("no leader is heard")
			continue
		}
		log.WithField("leader", leader).Info("witness for a leader")
	}
}

// hasVote reports whether the newest list of members that this witness has names it as a voter.
func (w *Witness) hasVote() bool {
	self := w.dir.identity().serverID()
	return slices.ContainsFunc(w.part.Report().State.Members().Servers, func(s hraft.Server) bool { return s.ID == self && s.Suffrage == hraft.Voter })
}

// announce shows the other members this witness's folder. A leader that has another one on record learns in no other way that the witness has lost
// that: its own connections are for the lost one.
func (w *Witness) announce(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	var asking sync.WaitGroup
	for _, m := range w.cfg.Members {
		if !m.Witness() {
			asking.Go(func() { _, _ = w.stream.ask(ctx, m) }) // what counts is that it was asked
		}
	}
	asking.Wait()
}

func (w *Witness) close() error {
	var errs []error
	if w.network != nil {
		errs = append(errs, w.network.Close())
		w.network.CloseStreams()
	}
	if w.stream != nil {
		errs = append(errs, w.stream.Close())
	}
	if w.file != nil {
		errs = append(errs, w.file.Close())
	}
	if w.memory != nil {
		errs = append(errs, w.memory.close())
	}
	return errors.Join(append(errs, w.dir.close())...)
}

// self implements host.
func (w *Witness) self() greeting {
	me := w.dir.identity()
	return greeting{
		Cluster: w.cfg.Cluster, Group: me.Group, From: w.cfg.ID, Version: ownVersion, Incarnation: me.Incarnation, Start: w.memory.held.Load().Start,
	}
}

// knows implements host.
func (w *Witness) knows(id, incarnation string) promise.Known {
	return w.memory.Of(string(serverID(id, incarnation)))
}

// met implements host: a witness whose folder has forgotten something ends, and starts again.
func (w *Witness) met(id, incarnation string, s promise.Start, known promise.Known) error {
	if w.opened {
		if err := w.memory.held.Load().Judge(id, known); err != nil {
			return w.endForgetful(fmt.Errorf("%w: %w", ErrForgotten, err))
		}
	}
	if s.Run > 0 {
		w.memory.Greeted(string(serverID(id, incarnation)), s)
	}
	return nil
}

// replaced implements host: an administrator has made a member continue without the others. The witness holds nothing that could be missed.
func (w *Witness) replaced(by greeting) error {
	if w.status().Empty {
		return w.dir.leave(by)
	}
	if !w.opened {
		return ErrReplaced
	}
	return w.endForgetful(fmt.Errorf("%w: by %s", ErrReplaced, by.From))
}

// endForgetful ends the process; its next start starts again.
func (w *Witness) endForgetful(err error) error {
	err = errors.Join(err, w.dir.change(func(me *identity) { me.Forgotten = err.Error() }))
	w.part.Fail(err)
	return err
}

// silentFactor is how many lease timeouts a leader may be silent until the witness says that it follows none.
const silentFactor = 10

// status implements host.
func (w *Witness) status() Status {
	me, r := w.dir.identity(), w.part.Report()
	s := Status{
		Group: me.Group, Empty: r.State.Last == 0, Last: r.State.Last, LastTerm: r.State.LastTerm(), Incarnation: me.Incarnation, Version: w.cfg.Version,
	}
	if time.Since(r.Heard) < silentFactor*cmp.Or(w.cfg.LeaseTimeout, hraft.DefaultConfig().LeaderLeaseTimeout) {
		s.Leader = bareID(hraft.ServerID(r.Leader))
	}
	s.IDs = w.cfg.ids()
	return s
}

// admit implements host.
func (w *Witness) admit(g greeting) error {
	listed := slices.ContainsFunc(w.part.Report().State.Members().Servers, func(s hraft.Server) bool { return bareID(s.ID) == g.From })
	if !listed && !slices.Contains(w.cfg.ids(), g.From) {
		return fmt.Errorf("%q is not among the members configured here (%v): check yarn.resourcemanager.ha.rm-ids, and restart the witness if it was changed", g.From, w.cfg.ids())
	}
	if g.Ask {
		return nil
	}
	return w.dir.admit(g, w.cfg.ID, w.cfg.Log)
}
