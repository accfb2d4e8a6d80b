package heartbeat

import (
	"context"
	"errors"
	"maps"
	"syscall"
	"time"

	"heddle/nm/allocation"
	"heddle/nm/container"
	"heddle/nm/monitor"
	"heddle/nm/service"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// news is what a status tells the ResourceManager for the first time.
type news struct {
	ended []records.ContainerID
	grown map[records.ContainerID]int32
}

// status returns the node's status, and what is new in it.
func (u *Updater) status() (m *pb.NodeStatus, told news) {
	o := &u.o
	m = &pb.NodeStatus{}
	m.SetNodeId(o.Node.PB())
	m.SetResponseId(u.responseID)
	var statuses []*pb.ContainerStatus
	var increased []*pb.Container
	told.grown = make(map[records.ContainerID]int32)
	var used monitor.Usage
	now := time.Now()
	here := make(map[records.ContainerID]bool)
	for _, c := range o.Containers.Containers() {
		s := c.Status()
		if allocation.IsOnLent(c.ID()) {
			used.CPU += s.Usage.CPU
			used.Physical += s.Usage.Physical
			used.Virtual += s.Usage.Virtual
			continue
		}
		here[c.ID()] = true
		if s.State == container.Done {
			if u.reported[c.ID()] {
				continue
			}
			told.ended = append(told.ended, c.ID())
			if o.Outputs != nil {
				o.Outputs.ContainerEnded(c.ID().Attempt.App)
			}
		} else {
			if s.Grown > u.grown[c.ID()] {
				told.grown[c.ID()] = s.Grown
				increased = append(increased, grownPB(s, o.Types))
			}
			used.CPU += s.Usage.CPU
			used.Physical += s.Usage.Physical
			used.Virtual += s.Usage.Virtual
		}
		status := service.StatusPB(s, o.Types, o.Node.Host, o.IP)
		if s.State == container.Done {
			status.SetHeddleTimes(times(s, now))
		}
		statuses = append(statuses, status)
	}
	for id := range u.reported {
		if !here[id] {
			delete(u.reported, id)
		}
	}
	maps.DeleteFunc(u.grown, func(id records.ContainerID, _ int32) bool { return !here[id] })
	m.SetContainersStatuses(statuses)
	m.SetIncreasedContainers(increased)

	health := o.Health()
	h := &pb.NodeHealthStatus{}
	h.SetIsNodeHealthy(health.Healthy)
	h.SetHealthReport(health.Report)
	h.SetLastHealthReportTime(health.At.UnixMilli())
	m.SetNodeHealthStatus(h)

	// Containers' CPU is in vcores, like their sizes. The node's is in cores.
	vcores := used.CPU
	if cores := o.Physical.VCores(); cores > 0 {
		vcores = used.CPU / float64(cores) * float64(o.Resource.VCores())
	}
	m.SetContainersUtilization(utilization(used.Physical, used.Virtual, vcores))
	use := o.Use()
	m.SetNodeUtilization(utilization(use.Memory, use.Memory+use.Swap, use.CPU))
	m.SetOpportunisticContainersStatus(noOpportunistic())
	return m, told
}

// grownPB says that a container has grown. Without this report the ResourceManager takes the growth back after some
// time. Hadoop's NodeManagers report only this part.
func grownPB(s container.Status, types records.ResourceTypes) *pb.Container {
	m := &pb.Container{}
	m.SetId(s.Grant.ID.PB())
	m.SetResource(types.PB(s.Grant.Resource))
	m.SetExecutionType(s.Grant.ExecutionType)
	return m
}

// times returns the times of a container's life for a Heddle ResourceManager. Others ignore them.
func times(s container.Status, now time.Time) *pb.HeddleContainerTimes {
	m := &pb.HeddleContainerTimes{}
	for _, step := range []struct {
		at  time.Time
		set func(int64)
	}{{s.Started, m.SetAccepted}, {s.Localized, m.SetLocalized}, {s.Launched, m.SetLaunched}, {s.Finished, m.SetEnded}} {
		if !step.at.IsZero() {
			step.set(max(now.Sub(step.at).Milliseconds(), 0))
		}
	}
	return m
}

func utilization(physical, virtual int64, cpu float64) *pb.ResourceUtilization {
	m := &pb.ResourceUtilization{}
	m.SetPmem(int32(physical >> 20))
	m.SetVmem(int32(virtual >> 20))
	m.SetCpu(float32(cpu))
	return m
}

func noOpportunistic() *pb.OpportunisticContainersStatus {
	m := &pb.OpportunisticContainersStatus{}
	m.SetRunningOpportContainers(0)
	m.SetOpportMemoryUsed(0)
	m.SetOpportCoresUsed(0)
	m.SetQueuedOpportContainers(0)
	m.SetWaitQueueLength(0)
	m.SetOpportQueueCapacity(0)
	return m
}

// logged logs a failed write. It doesn't wait for the write.
func (u *Updater) logged(failure string, written <-chan error) {
	go func() {
		if err := <-written; err != nil {
			u.o.Log.WithError(err).Error(failure)
		}
	}()
}

// apply starts what a heartbeat's reply asks for. A failure concerns one container and is logged.
func (u *Updater) apply(ctx context.Context, resp *pb.NodeHeartbeatResponse) {
	o := &u.o
	if k := key(resp.HasContainerTokenMasterKey(), resp.GetContainerTokenMasterKey()); k != nil {
		u.logged("Could not keep the new key for container tokens", o.Keys.SetContainerKey(k))
	}
	if k := key(resp.HasNmTokenMasterKey(), resp.GetNmTokenMasterKey()); k != nil {
		u.logged("Could not keep the new key for NM tokens", o.Keys.SetNodeKey(k))
	}
	if o.System != nil {
		if err := o.System(resp.GetSystemCredentialsForApps()); err != nil {
			o.Log.WithError(err).Error("Could not read the credentials for an application")
		}
	}
	u.setResource(resp.HasResource(), resp.GetResource())
	if resp.HasHeddleLent() {
		u.lend(resp.GetHeddleLent())
	}
	if resp.HasHeddleLong() {
		u.setLong(resp.GetHeddleLong())
	}
	for _, m := range resp.GetContainersToCleanup() {
		if c, err := o.Containers.Container(records.ContainerIDFrom(m)); err == nil {
			c.Kill(records.ExitKilledByResourceManager, "Container Killed by ResourceManager\n")
		}
	}
	for _, m := range resp.GetApplicationsToCleanup() {
		app := records.ApplicationIDFrom(m)
		o.Containers.FinishApplication(app, "Application killed by ResourceManager")
		o.Service.Finished(app)
		if o.Warming != nil {
			o.Warming.End(app)
		}
		if o.EndApplication != nil {
			o.EndApplication(app)
		}
		u.logged("Could not remove an application's keys", o.Keys.Finished(app))
	}
	var gone []records.ContainerID
	for _, m := range resp.GetContainersToBeRemovedFromNm() {
		gone = append(gone, records.ContainerIDFrom(m))
	}
	o.Containers.Forget(gone...)
	for _, m := range resp.GetContainersToSignal() {
		u.signal(m)
	}
	u.warm(resp.GetHeddleWarming())
	for _, m := range append(resp.GetContainersToDecrease(), resp.GetContainersToUpdate()...) {
		u.updates.Go(func() { u.update(ctx, m) })
	}
}

func (u *Updater) signal(m *pb.SignalContainerRequest) {
	id := records.ContainerIDFrom(m.GetContainerId())
	c, err := u.o.Containers.Container(id)
	if err == nil {
		err = c.Signal(m.GetCommand())
	}
	if err != nil {
		u.o.Log.WithError(err).WithField("container", id.String()).Info("could not deliver a signal")
	}
}

// update changes a container's size by a decision of the ResourceManager. The kernel refuses a size below what the container uses: it is tried again
// until the container uses less, has yet another size, or ends. The ResourceManager says it only once.
func (u *Updater) update(ctx context.Context, m *pb.Container) {
	log := u.o.Log.WithField("container", records.ContainerIDFrom(m.GetId()).String())
	token := m.GetContainerToken()
	id, err := u.o.Keys.Container(token)
	if err == nil {
		err = u.o.Service.Update(ctx, id, token.GetIdentifier())
	}
	if err == nil {
		return
	}
	log.WithError(err).Warn("could not change the container's size")
	for errors.Is(err, syscall.EBUSY) {
		select {
		case <-time.After(sizeAgain):
			err = u.o.Service.Update(ctx, id, token.GetIdentifier())
		case <-ctx.Done():
			return
		}
	}
}

// sizeAgain is the pause before a container's size is tried again.
const sizeAgain = 2 * time.Second

func (u *Updater) setResource(has bool, m *pb.Resource) {
	if !has {
		return
	}
	r, err := u.o.Types.From(m)
	if err != nil {
		u.o.Log.WithError(err).Warn("the ResourceManager sent an invalid size for the node")
		return
	}
	u.offer(r)
}

// offer has the node offer resources to containers. It registers with them, unless it is lent a part of what it has: that may come back.
func (u *Updater) offer(r records.Resource) {
	if r == u.offered {
		return
	}
	u.o.Log.Infof("the node has %s for containers from now on", u.o.Types.Format(r))
	u.offered = r
	if u.o.Lend == nil {
		u.o.Resource = r
	}
	u.o.Containers.SetResource(r)
}
