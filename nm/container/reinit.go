package container

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"heddle/internal/userfiles"
	"heddle/nm/localizer"
	"heddle/nm/proc"
	"heddle/nm/workdir"
	"heddle/yarn/pb"
)

// Errors of calls that change what a container runs; the words are Hadoop's.
const (
	ErrNothingToCommit   = worded("Nothing to Commit !!")
	ErrNothingToRollback = worded("Nothing to rollback to !!")
)

// version is a launch context with its resources.
type version struct {
	context *pb.ContainerLaunchContext
	paths   map[string]string
}

// reinit is a change of what the container runs, from the call until its process has ended.
type reinit struct {
	to         version
	keep       bool // the version before, for Rollback
	why        string
	localized  bool
	isRollback bool
}

// LocalizationStatus is how far a resource is that was asked for with Localize.
type LocalizationStatus struct {
	Key   string
	State pb.LocalizationState
	Why   string // it has failed
}

// cannot returns the refusal of a call in the wrong state. The lock is held.
func cannot(c *Container, what string) error {
	return worded(fmt.Sprintf("Cannot perform %s on [%s]. Current state is [%s, isReInitializing=%v].",
		what, c.grant.ID, c.state, c.reinit != nil))
}

// Localize brings more resources for a running container, in the background, and links them in its work folder.
func (c *Container) Localize(resources map[string]*pb.LocalResource) error {
	req := localizer.Request{Container: c.ID(), User: c.grant.User, Resources: make(map[string]localizer.Resource)}
	for link, r := range resources {
		resource, err := localizer.ResourceFrom(r)
		if err != nil {
			return fmt.Errorf("%s: %w", link, err)
		}
		if !filepath.IsLocal(link) {
			return fmt.Errorf("%s: a resource must be linked within the work folder", link)
		}
		req.Resources[link] = resource
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	req.Tokens = c.context.GetTokens()
	if c.state != Running {
		return cannot(c, "LOCALIZE")
	}
	for link := range resources {
		c.asked[link] = LocalizationStatus{Key: link, State: pb.LocalizationState_L_PENDING}
	}
	work := c.record.Places.Work
	background(c, func() {
		for link, resource := range req.Resources { // one that fails is to hold up no other
			one := req
			one.Resources = map[string]localizer.Resource{link: resource}
			status := LocalizationStatus{Key: link, State: pb.LocalizationState_L_COMPLETED}
			result, err := c.m.Localizer.Localize(c.ctx, one)
			if err == nil {
				var owner *userfiles.User
				if owner, err = c.m.owner(c.grant.User); err == nil {
					err = workdir.AddLink(c.m.Disks, work, link, result.Paths[link], owner)
				}
			}
			if err != nil {
				status.State, status.Why = pb.LocalizationState_L_FAILED, err.Error()
			}
			c.mu.Lock()
			c.asked[link] = status
			if err == nil {
				c.paths[link] = result.Paths[link]
			}
			c.mu.Unlock()
		}
	})
	return nil
}

// background runs f, which may localize, beside the container's own goroutine, which is alive. The container's lock is held.
func background(c *Container, f func()) {
	c.m.lives.Go(func() {
		defer releaseLate(c)
		f()
	})
}

// releaseLate releases what was localized for a container that had released all before.
func releaseLate(c *Container) {
	if c.State().over() {
		c.m.Localizer.Release(c.ID())
	}
}

// LocalizationStatuses returns how far the resources are that Localize was called for, by name.
func (c *Container) LocalizationStatuses() []LocalizationStatus {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []LocalizationStatus
	for _, link := range slices.Sorted(maps.Keys(c.asked)) {
		out = append(out, c.asked[link])
	}
	return out
}

// Reinitialize runs another launch context of the container in the same work folder: its resources are localized while
// the old process continues, which is then ended. Without autoCommit the change can be taken back with Rollback, and is
// when the new process fails, until Commit.
func (c *Container) Reinitialize(to *pb.ContainerLaunchContext, autoCommit bool) error {
	return c.change("RE_INIT", &reinit{
		to: version{context: to}, keep: !autoCommit, why: "Container will be Re-initialized.\n",
	})
}

// Restart ends the container's process and starts it again.
func (c *Container) Restart() error {
	return c.change("RE_INIT", &reinit{why: "Container will be Restarted.\n"})
}

// Rollback goes back to what the container ran before Reinitialize.
func (c *Container) Rollback() error {
	c.mu.Lock()
	before := c.previous
	c.mu.Unlock()
	if before == nil {
		return ErrNothingToRollback
	}
	return c.change("ROLLBACK", &reinit{to: *before, isRollback: true, why: "Container upgrade will be Rolled-back.\n"})
}

// Commit makes the last Reinitialize final.
func (c *Container) Commit() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.previous == nil || c.reinit != nil {
		return ErrNothingToCommit
	}
	c.previous = nil
	return nil
}

// change begins a change; its own goroutine takes it up when the resources are there.
func (c *Container) change(what string, r *reinit) error {
	var req localizer.Request
	if r.to.context != nil && !r.isRollback {
		var err error
		if req, err = request(c.ID(), c.grant.User, r.to.context); err != nil {
			return err
		}
	}
	c.mu.Lock()
	if c.state != Running {
		defer c.mu.Unlock()
		return cannot(c, what)
	}
	c.reinit = r
	t := c.enter(Reinitializing)
	announced := make(chan struct{})
	background(c, func() {
		<-announced
		if len(req.Resources) > 0 {
			result, err := c.m.Localizer.Localize(c.ctx, req)
			if err != nil {
				c.Diagnose(fmt.Sprintf("Container [%s] Re-init failed !! Resource could not be localized: %v\n", c.ID(), err))
				c.mu.Lock()
				c.reinit = nil
				c.mu.Unlock()
				c.undo(Reinitializing)
				return
			}
			r.to.paths = result.Paths
		}
		c.mu.Lock()
		r.localized = true
		interrupt := c.interrupt
		c.mu.Unlock()
		if interrupt != nil { // else the process has only just started, and await will look for the change itself
			interrupt()
		}
	})
	c.mu.Unlock()
	c.announce(t)
	close(announced)
	return nil
}

// takeReinit returns the change that is ready to be made, if there is one.
func (c life) takeReinit() *reinit {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reinit == nil || !c.reinit.localized {
		return nil
	}
	return c.reinit
}

// adopt makes a change: the old process is to end, or has ended. From the moment that this is on disk, there is no way back to it.
func (c life) adopt(r *reinit) {
	c.mu.Lock()
	now := version{context: c.context, paths: maps.Clone(c.paths)}
	if r.to.context != nil {
		c.context = r.to.context
		if r.isRollback {
			c.paths = r.to.paths
		} else {
			maps.Copy(c.paths, r.to.paths)
		}
		c.previous = nil
		if r.keep {
			c.previous = &now
		}
	}
	c.reinit = nil
	c.record.Retries, c.record.RetryTimes = 0, nil
	c.record.Keeper = proc.ID{}
	c.diagnose(r.why)
	saved := c.beginRequest()
	c.mu.Unlock()
	select {
	case err := <-saved:
		report(c.log, err)
	case <-c.ctx.Done(): // the end of the container doesn't wait for a disk
		c.logged(saved)
	}
}

// rollBackFailed goes back to the version before the last change, which has failed, if there is one.
func (c life) rollBackFailed() bool {
	c.mu.Lock()
	before := c.previous
	c.mu.Unlock()
	if before == nil {
		return false
	}
	c.adopt(&reinit{to: *before, isRollback: true, why: "Container Re-init Auto Rolled-Back.\n"})
	return true
}
