package container

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"heddle/internal/within"
	"heddle/nm/gpu"
	"heddle/nm/launch"
	"heddle/nm/localizer"
	"heddle/nm/makeway"
	"heddle/nm/proc"
	"heddle/nm/suspend"
	"heddle/nm/workdir"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// life is a container as its own goroutine sees it. No other goroutine calls these methods.
type life struct{ *Container }

// entry is where a container's goroutine takes it up.
type entry int

const (
	freshStart entry = iota // nothing has been done for it
	attached                // it has a session, from before a restart
)

// live takes the container through its life. If the manager is closed meanwhile it returns at once and leaves
// everything as it is, for Recover.
func (c life) live(from entry) {
	defer c.stop()
	if from == freshStart {
		if err := c.prepare(); err != nil {
			if !c.closing() {
				c.endUnlaunched(err)
			}
			return
		}
	}
	c.m.Logs.ContainerStarted(c.Grant())
	for {
		if from != attached {
			if err := c.launch(); err != nil {
				switch {
				case c.closing() && c.killed() == nil:
				case c.killed() != nil:
					c.endKilledBetween()
					c.finish()
				default:
					c.endFailedLaunch(err)
				}
				return
			}
		}
		from = freshStart
		code, again, ok := c.await()
		if !ok {
			return
		}
		if again == reinitialize {
			continue
		}
		if c.conclude(code) == relaunch {
			if c.pause() {
				continue
			}
			if c.closing() {
				return
			}
			c.endKilledBetween()
		}
		c.finish()
		return
	}
}

// closing reports that the manager is being closed, and that this container is left to the next one.
func (c life) closing() bool { return c.m.ctx.Err() != nil }

// prepare brings the container to the point where it can be launched.
func (c life) prepare() error {
	if err := c.m.apps.Ready(c.ctx, c.ID().Attempt.App); err != nil {
		return err
	}
	c.transition(Localizing)
	launchContext := c.LaunchContext()
	c.introduce()
	req, err := request(c.ID(), c.grant.User, launchContext)
	if err != nil {
		return err
	}
	// The end of the container doesn't wait for a disk.
	result, err := within.Do(c.ctx, func() (localizer.Result, error) {
		defer releaseLate(c.Container)
		return c.m.Localizer.Localize(c.ctx, req)
	})
	if err != nil {
		return err
	}
	if c.m.Localized != nil {
		c.m.Localized(c.grant, result.Paths)
	}
	c.mu.Lock()
	c.paths, c.counters = result.Paths, result.Counters.String()
	c.record.Localized, c.record.Cold = time.Now().UnixMilli(), result.Counters.FilesFetched > 0
	c.mu.Unlock()
	c.transition(Scheduled)
	return c.admit()
}

// introduce tells auxiliary services of the container and what it has for them (Hadoop: ContainerImpl.RequestResourcesTransition), before anything is localized.
func (c life) introduce() {
	c.m.Aux.StartContainer(c.Grant())
	for _, s := range c.LaunchContext().GetServiceData() {
		c.m.Aux.StartApplication(c.ctx, s.GetKey(), c.ID().Attempt.App, c.grant.User, s.GetValue())
	}
}

// admit waits until the node has room.
func (c life) admit() error {
	if err := c.place.Enter(c.ctx); err != nil {
		makeway.SentAway(suspension(c), err)
		return err
	}
	if err := c.takeGPUs(); err != nil {
		return err
	}
	return c.ctx.Err()
}

// takeGPUs picks the container's GPUs, which it has until it ends.
func (c life) takeGPUs() error {
	if c.m.cfg.GPUs == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	got, err := c.m.cfg.GPUs.Take(c.ID(), gpu.In(c.m.cfg.Types, c.grant.Resource))
	c.record.GPUs = append([]gpu.Device{}, got...)
	return err
}

// endUnlaunched finishes a container that could not be prepared.
func (c life) endUnlaunched(err error) {
	byDisk := c.m.doubt(c.ctx, err)
	c.mu.Lock()
	defer c.removeFiles(c.record.Places) // those of a process before, if there was one
	if c.record.Kill != nil {
		c.mu.Unlock()
		c.endKilledBetween()
		c.complete()
		return
	}
	c.diagnose(err.Error() + "\n")
	if byDisk {
		if failed := c.disksFailed(); failed != "" {
			c.diagnose(failed + "\n")
		}
	}
	t := c.enter(LocalizationFailed)
	c.mu.Unlock()
	c.log.WithError(err).Warn("localization failed")
	c.announce(t)
	c.complete()
}

// endFailedLaunch finishes a container whose process could not be started.
func (c life) endFailedLaunch(err error) {
	c.m.doubt(c.ctx, err)
	c.mu.Lock()
	if c.record.Kill == nil {
		c.record.ExitCode = launchFailed
		if failed := c.disksFailed(); failed != "" {
			err = worded(failed)
		}
	}
	c.diagnose(err.Error() + "\n")
	t := c.enter(ExitedWithFailure)
	c.mu.Unlock()
	c.log.WithError(err).Warn("could not launch")
	c.announce(t)
	c.finish()
}

// disksFailed gives the status the exit code of the node's disks if it is their fault that the container could not begin, and says so: such an attempt doesn't
// count as the application's. The lock is held.
func (c life) disksFailed() string {
	ok, report := c.m.Disks.Healthy()
	if ok {
		return ""
	}
	c.record.ExitCode = records.ExitDisksFailed
	return "Most of the disks failed. " + report
}

// launchFailed is the exit code of containers that could not be started.
const launchFailed = -1

// The step after a process.
type next int

const (
	theEnd       next = iota
	relaunch          // the same again
	reinitialize      // with another launch context
)

// await waits for the end of the container's process, or kills it when that is asked for. ok is false when the manager
// is closing.
func (c life) await() (code int, n next, ok bool) {
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	c.mu.Lock()
	c.interrupt = cancel
	s, waiting := c.session, c.reinit != nil && c.reinit.localized
	c.mu.Unlock()
	if waiting {
		cancel() // it came while there was no process to interrupt
	}
	stopWatching := c.watchMemory(ctx)
	code, err := s.Wait(ctx)
	cancel()
	stopWatching()
	if err != nil {
		r := c.takeReinit()
		switch {
		case c.killed() != nil:
			c.transition(Killing)
		case r != nil:
			c.mu.Lock()
			t := c.enter(ReinitializingAwaitingKill)
			c.mu.Unlock()
			c.adopt(r) // now, so that the next life ends what is left of the old process, and starts the new one
			c.announce(t)
			n = reinitialize
		case c.closing():
			return 0, theEnd, false
		default:
			c.log.WithError(err).Error("lost sight of the container; it is killed")
			c.Diagnose(fmt.Sprintf("Container can't be watched any more: %v\n", err))
		}
		code, err = c.end(s, c.m.cfg.KillGrace, n != reinitialize)
		if err != nil && c.closing() {
			return 0, theEnd, false // the next life continues with it
		}
		if err != nil {
			c.log.WithError(err).Error("could not kill")
			code = launch.ExitLost
		}
		if n == reinitialize {
			return code, n, true
		}
	} else if _, err := c.end(s, 0, true); err != nil { // daemons die with the process that led them
		if c.closing() {
			return 0, theEnd, false
		}
		c.log.WithError(err).Error("could not kill the processes that were left")
	}
	return code, theEnd, true
}

// end ends all processes of the container, for good or before others are started. It tries for as long as it takes, since
// a container that lives on after it was given up would use what the ResourceManager gives to others; a process that
// can't be killed waits for a disk or device, in all likelihood.
func (c life) end(s *launch.Session, grace time.Duration, forGood bool) (code int, err error) {
	c.box.Seize()
	defer func() {
		// No command gets in between: it would find a container that seems to run.
		var t change
		c.mu.Lock()
		over := err == nil || !c.closing() // else the next life finds it as it is
		if over && forGood {
			t = c.enter(Exited, inProcess...) // one that is killed stays in Killing
		}
		c.mu.Unlock()
		if over {
			suspension(c).unsuspend()
		}
		c.box.Unlock()
		c.announce(t)
	}()
	if grace > 0 {
		c.thawToEnd()
	}
	for {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), grace+c.m.cfg.KillWait)
		err := s.Stop(ctx, grace)
		if err == nil {
			code, err = s.Wait(ctx)
		}
		cancel()
		if err == nil || !errors.Is(err, context.DeadlineExceeded) || c.closing() {
			return code, err
		}
		c.log.WithError(err).Warnf("processes have not ended %v after they were killed; trying again", c.m.cfg.KillWait)
		grace = 0
	}
}

// thawToEnd lets a frozen container run, so that it gets SIGTERM and its time to end like any other. One whose memory was taken
// can't run in that time: no room was made for it.
func (c life) thawToEnd() {
	s := c.ladder.State()
	if !s.Have.Still() {
		return
	}
	why := fmt.Sprintf("%d MB of its memory were paged out", s.Swapped>>20)
	if s.Have == suspend.Frozen && s.Swapped == 0 {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), c.m.cfg.KillWait)
		defer cancel()
		err := c.Group().Thaw(ctx)
		if err == nil {
			return
		}
		why = err.Error()
	}
	c.Diagnose("Container was suspended and is killed without SIGTERM: " + why + "\n")
}

// conclude turns the exit code of the container's process into a status.
func (c life) conclude(code int) next {
	k := c.killed()
	if k != nil && code == launch.ExitLost {
		code = launch.ExitForceKilled // by us, in the last life
	}
	if k == nil && code != 0 { // a parent of the process that the kernel ended may exit with any code, before watchMemory sees why
		if why := c.outOfMemory(); why != "" {
			c.mu.Lock()
			k = &kill{ExitCode: records.ExitKilledExceededPMem, Why: why}
			c.kill(k)
			c.mu.Unlock()
		}
	}
	switch {
	case code == 0:
		c.exit(k, code)
		c.transition(ExitedWithSuccess)
		return theEnd
	case code == launch.ExitForceKilled || code == launch.ExitTerminated:
		c.Diagnose(fmt.Sprintf("Container killed on request. Exit code is %d\n", code))
		c.Diagnose(fmt.Sprintf("Container exited with a non-zero exit code %d. \n", code))
		if k != nil {
			c.transition(CleanedUpAfterKill)
			return theEnd
		}
		c.Diagnose("Killed by external signal\n")
		c.exit(nil, code)
		c.transition(ExitedWithFailure)
		return theEnd
	}
	c.explain(code)
	if k == nil && c.rollBackFailed() {
		return relaunch
	}
	if k == nil && c.shouldRetry(code) {
		return relaunch
	}
	c.exit(k, code)
	c.transition(ExitedWithFailure)
	return theEnd
}

// exit sets the status's exit code. As in Hadoop the process's own code wins over the reason of a kill when it made use
// of its grace to end in its own way, unless it was killed for what it did.
func (c life) exit(k *kill, code int) {
	if k != nil && slices.Contains([]int{
		records.ExitDisksFailed, records.ExitKilledExceededVMem, records.ExitKilledExceededPMem, records.ExitKilledForExcessLogs,
	}, k.ExitCode) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.record.ExitCode = code
}

// explainPatience is how long disks may take to tell why a process has failed: the container's end is to be reported.
const explainPatience = 10 * time.Second

// remains has the traces of a failed process that explain its failure.
type remains struct {
	message string
	tails   launch.Tails
	full    []string
}

// explain tells in the diagnostics why a process has failed.
func (c life) explain(code int) {
	c.mu.Lock()
	s, at := c.session, c.record.Places
	c.mu.Unlock()
	max := c.m.cfg.StderrTail
	ctx, cancel := context.WithTimeout(context.Background(), explainPatience)
	defer cancel()
	found, err := within.Do(ctx, func() (remains, error) {
		r := remains{message: s.Output(max)}
		if owner, err := c.m.owner(c.grant.User); err == nil {
			r.tails = workdir.Tails(c.m.Disks, at, owner, c.m.cfg.StderrPattern, max)
		}
		for _, dir := range []string{at.Work, at.Log} {
			r.full = append(r.full, workdir.Full(dir))
		}
		return r, nil
	})
	if err != nil {
		c.log.WithError(err).Warn("a disk doesn't say why the container failed")
	}
	text := fmt.Sprintf("Exception from container-launch.\nContainer id: %s\nExit code: %d\n", c.ID(), code)
	if found.message != "" {
		text += "Exception message: " + found.message + "\n"
	}
	c.Diagnose(text + "\n")

	text = fmt.Sprintf("Container exited with a non-zero exit code %d. ", code)
	t := found.tails
	if t.HasErr {
		text += fmt.Sprintf("Error file: %s.\nLast %d bytes of %s :\n%s", launch.PrelaunchErr, max, launch.PrelaunchErr, t.Prelaunch)
	}
	if len(t.ErrorFiles) > 1 {
		text += "Error files: " + strings.Join(t.ErrorFiles, ", ") + ".\n"
	}
	if t.ErrorName != "" {
		text += fmt.Sprintf("Last %d bytes of %s :\n%s\n", max, t.ErrorName, t.ErrorText)
	}
	// Hadoop says it twice, once for the failure and once for the end.
	c.Diagnose(text + "\n")
	c.Diagnose(text + "\n")
	for _, full := range found.full {
		if full != "" {
			c.Diagnose(full + "\n")
			c.m.doubt(c.ctx, syscall.ENOSPC)
		}
	}
}

// shouldRetry decides by the launch context's ContainerRetryContext whether the process is started again, and counts
// that (Hadoop: SlidingWindowRetryPolicy).
func (c life) shouldRetry(code int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.context.GetContainerRetryContext()
	switch policy := r.GetRetryPolicy(); {
	case policy == pb.ContainerRetryPolicy_NEVER_RETRY,
		policy == pb.ContainerRetryPolicy_RETRY_ON_SPECIFIC_ERROR_CODES && !slices.Contains(r.GetErrorCodes(), int32(code)):
		return false
	}
	now := time.Now().UnixMilli()
	if validity := r.GetFailuresValidityInterval(); validity > 0 {
		c.record.RetryTimes = slices.DeleteFunc(c.record.RetryTimes, func(t int64) bool { return now-t > validity })
		c.record.Retries = len(c.record.RetryTimes)
	}
	if max := int(r.GetMaxRetries()); max >= 0 && c.record.Retries >= max { // −1: for ever
		return false
	}
	c.record.Retries++
	if r.GetFailuresValidityInterval() > 0 {
		c.record.RetryTimes = append(c.record.RetryTimes, now)
	}
	return true
}

// pause waits between a failure and the next try. It returns false when there is to be none.
func (c life) pause() bool {
	c.mu.Lock()
	t := c.enter(Relaunching)
	wait := time.Duration(c.context.GetContainerRetryContext().GetRetryInterval()) * time.Millisecond
	if c.late != nil {
		c.kill(c.late)
	}
	c.record.Keeper = proc.ID{} // the next life would take its exit code for that of another failure
	saved := c.begin()
	c.mu.Unlock()
	c.announce(t)
	c.logged(saved)
	timer := time.NewTimer(max(wait, c.m.cfg.RetryMinimum))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.ctx.Done():
		return false
	}
}

// endKilledBetween is for a container that is killed while it has no process.
func (c life) endKilledBetween() {
	c.transition(Killing)
	c.Diagnose("Container is killed before being launched.\n")
	c.transition(CleanedUpAfterKill)
}

// finish cleans up after a container that was launched, or was about to be.
func (c life) finish() {
	c.mu.Lock()
	at, archived := c.record.Places, c.archived
	c.archived = nil
	c.mu.Unlock()
	suspension(c).unsuspend()
	use, err := c.box.Destroy()
	c.noteUsage(use)
	if err != nil {
		c.log.WithError(err).Warn("could not remove the container's group")
	}
	c.m.Images.Release(c.ID().String())
	c.complete()
	if archived != nil {
		archived()
	}
	c.removeFiles(at)
}

// complete reports that the container has ended.
func (c life) complete() {
	c.mu.Lock()
	c.record.Complete = true
	c.record.Finished = time.Now().UnixMilli()
	code, killed := c.record.ExitCode, c.record.Kill != nil
	c.mu.Unlock()
	c.stop() // for work beside this goroutine
	if c.m.cfg.GPUs != nil {
		c.m.cfg.GPUs.Release(c.ID())
	}
	c.place.Leave()
	c.m.counters.ended(code, killed)
	c.save()
	c.m.Localizer.Release(c.ID())
	c.m.Logs.ContainerFinished(c.Grant(), code)
	c.transition(Done)
	c.m.Aux.StopContainer(c.Grant())
	close(c.done)
	c.m.apps.Remove(c.ID())
	c.m.changed()
}

// request returns what a container's launch context wants localized.
func request(id records.ContainerID, user string, lc *pb.ContainerLaunchContext) (localizer.Request, error) {
	req := localizer.Request{Container: id, User: user, Tokens: lc.GetTokens(), Resources: make(map[string]localizer.Resource)}
	for _, r := range lc.GetLocalResources() {
		resource, err := localizer.ResourceFrom(r.GetValue())
		if err != nil {
			return req, fmt.Errorf("%s: %w", r.GetKey(), err)
		}
		req.Resources[r.GetKey()] = resource
	}
	return req, nil
}
