package heartbeat

import (
	"context"
	"errors"
	"maps"
	"sync"
	"syscall"
	"time"

	"heddle/nm/allocation"
	"heddle/nm/container"
	"heddle/nm/monitor"
	"heddle/nm/service"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// containers tells which containers run and which have ended, and how the node is. It carries out orders for containers.
type containers struct {
	*Options
	size    *size
	updates *sync.WaitGroup // changes of containers' sizes under way

	// What the ResourceManager knows, and what it will know once it has accepted the message that is under way.
	ended map[records.ContainerID]bool  // containers whose end it was told
	grown map[records.ContainerID]int32 // versions of containers that grew
	lives map[records.ContainerID]int   // how much of the lives of containers that run
	news  news
}

// news lists the reports that a message has for the first time.
type news struct {
	ended []records.ContainerID
	grown map[records.ContainerID]int32
	lives map[records.ContainerID]int
}

// Registering tells of all containers.
func (c *containers) Registering(req *pb.RegisterNodeManagerRequest) {
	var all news
	all.grown = make(map[records.ContainerID]int32)
	var statuses []*pb.NMContainerStatus
	for _, x := range c.Containers.Containers() {
		if allocation.IsOnLent(x.ID()) {
			continue
		}
		s := x.Status()
		statuses = append(statuses, service.NMStatusPB(s, c.Types))
		if s.State == container.Done {
			all.ended = append(all.ended, x.ID())
		} else if s.Grown > 0 {
			all.grown[x.ID()] = s.Grown
		}
	}
	req.SetContainerStatuses(statuses)
	var running []*pb.ApplicationId
	for _, app := range c.Containers.Applications() {
		running = append(running, app.ID.PB())
	}
	req.SetRunningApplications(running)
	// The status has the ends, too, but not the growths that the list has told.
	c.ended, c.grown, c.lives = make(map[records.ContainerID]bool), maps.Clone(all.grown), nil
	status, _ := c.status()
	req.SetNodeStatus(status)
	c.news = all
}

// Registered notes what the ResourceManager knows now.
func (c *containers) Registered(*pb.RegisterNodeManagerResponse) {
	c.ended, c.grown, c.lives = make(map[records.ContainerID]bool), make(map[records.ContainerID]int32), make(map[records.ContainerID]int)
	c.noteNews()
}

// Report tells of the containers that run or have ended since.
func (c *containers) Report(req *pb.NodeHeartbeatRequest) {
	status, told := c.status()
	req.SetNodeStatus(status)
	req.SetHeddleRefusals(c.Service.Refusals())
	c.news = told
}

// Delivered notes what the ResourceManager knows now.
func (c *containers) Delivered(*pb.NodeHeartbeatResponse) { c.noteNews() }

func (c *containers) noteNews() {
	for _, id := range c.news.ended {
		c.ended[id] = true
	}
	maps.Copy(c.grown, c.news.grown)
	maps.Copy(c.lives, c.news.lives)
	c.news = news{}
}

// status returns the node's status, and what is new in it.
func (c *containers) status() (m *pb.NodeStatus, told news) {
	m = &pb.NodeStatus{}
	m.SetNodeId(c.Node.PB())
	var statuses []*pb.ContainerStatus
	var increased []*pb.Container
	told.grown, told.lives = make(map[records.ContainerID]int32), make(map[records.ContainerID]int)
	var used monitor.Usage
	now := time.Now()
	here := make(map[records.ContainerID]bool)
	for _, x := range c.Containers.Containers() {
		s := x.Status()
		if allocation.IsOnLent(x.ID()) {
			addUsage(&used, &s.Usage)
			continue
		}
		here[x.ID()] = true
		if s.State == container.Done {
			if c.ended[x.ID()] {
				continue
			}
			told.ended = append(told.ended, x.ID())
			if c.Outputs != nil {
				c.Outputs.ContainerEnded(x.ID().Attempt.App)
			}
		} else {
			if s.Grown > c.grown[x.ID()] {
				told.grown[x.ID()] = s.Grown
				increased = append(increased, grownPB(s, c.Types))
			}
			addUsage(&used, &s.Usage)
		}
		status := service.StatusPB(s, c.Types, c.Node.Host, c.IP)
		if known := got(s); s.State == container.Done || known > c.lives[x.ID()] {
			status.SetHeddleTimes(times(s, now))
			told.lives[x.ID()] = known
		}
		statuses = append(statuses, status)
	}
	maps.DeleteFunc(c.ended, func(id records.ContainerID, _ bool) bool { return !here[id] })
	maps.DeleteFunc(c.grown, func(id records.ContainerID, _ int32) bool { return !here[id] })
	maps.DeleteFunc(c.lives, func(id records.ContainerID, _ int) bool { return !here[id] })
	m.SetContainersStatuses(statuses)
	m.SetIncreasedContainers(increased)
	c.describe(m, used)
	return m, told
}

// got counts the steps of its life that a container has taken.
func got(s container.Status) (steps int) {
	for _, at := range []time.Time{s.Started, s.Localized, s.Launched} {
		if !at.IsZero() {
			steps++
		}
	}
	return steps
}

func addUsage(sum, x *monitor.Usage) {
	sum.CPU += x.CPU
	sum.Physical += x.Physical
	sum.Virtual += x.Virtual
}

// describe adds the node's health, and what it and its containers use.
func (c *containers) describe(m *pb.NodeStatus, used monitor.Usage) {
	health := c.Health()
	h := &pb.NodeHealthStatus{}
	h.SetIsNodeHealthy(health.Healthy)
	h.SetHealthReport(health.Report)
	h.SetLastHealthReportTime(health.At.UnixMilli())
	m.SetNodeHealthStatus(h)

	// Containers' CPU is in vcores, like their sizes. The node's is in cores.
	vcores := used.CPU
	if cores := c.Physical.VCores(); cores > 0 {
		vcores = used.CPU / float64(cores) * float64(c.size.own.VCores())
	}
	m.SetContainersUtilization(utilization(used.Physical, used.Virtual, vcores))
	use := c.Use()
	m.SetNodeUtilization(utilization(use.Memory, use.Memory+use.Swap, use.CPU))
	m.SetOpportunisticContainersStatus(opportunistic(c.Containers))
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
	if s.Cold {
		m.SetCold(true)
	}
	if s.Starved > 0 {
		m.SetStarved(s.Starved.Milliseconds())
	}
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

// opportunistic sums up the opportunistic containers, in the units of Hadoop's ContainerScheduler: GB, rounded up.
func opportunistic(of *container.Manager) *pb.OpportunisticContainersStatus {
	have := of.Room().Opportunities()
	m := &pb.OpportunisticContainersStatus{}
	m.SetRunningOpportContainers(int32(have.Running))
	m.SetOpportMemoryUsed((have.Used.MemoryMB() + 1023) / 1024)
	m.SetOpportCoresUsed(int32(have.Used.VCores()))
	m.SetQueuedOpportContainers(int32(have.Queued))
	m.SetWaitQueueLength(int32(have.Waiting))
	m.SetOpportQueueCapacity(int32(have.Capacity))
	return m
}

// Apply ends, forgets, signals and resizes containers.
func (c *containers) Apply(ctx context.Context, resp *pb.NodeHeartbeatResponse) {
	for _, m := range resp.GetContainersToCleanup() {
		if x, err := c.Containers.Container(records.ContainerIDFrom(m)); err == nil {
			x.Kill(records.ExitKilledByResourceManager, "Container Killed by ResourceManager\n")
		}
	}
	var gone []records.ContainerID
	for _, m := range resp.GetContainersToBeRemovedFromNm() {
		gone = append(gone, records.ContainerIDFrom(m))
	}
	c.Containers.Forget(gone...)
	for _, m := range resp.GetContainersToSignal() {
		c.signal(m)
	}
	if limit := resp.GetContainerQueuingLimit(); limit.HasMaxQueueLength() {
		c.Containers.Room().Shed(int(limit.GetMaxQueueLength()))
	}
	for _, m := range append(resp.GetContainersToDecrease(), resp.GetContainersToUpdate()...) {
		c.updates.Go(func() { c.update(ctx, m) })
	}
}

// AppEnded ends the containers of an application.
func (c *containers) AppEnded(app records.ApplicationID) {
	c.Containers.FinishApplication(app, "Application killed by ResourceManager")
	c.Service.Finished(app)
}

func (c *containers) signal(m *pb.SignalContainerRequest) {
	id := records.ContainerIDFrom(m.GetContainerId())
	x, err := c.Containers.Container(id)
	if err == nil {
		err = x.Signal(m.GetCommand())
	}
	if err != nil {
		c.Log.WithError(err).WithField("container", id.String()).Info("could not deliver a signal")
	}
}

// update changes a container's size by a decision of the ResourceManager. The kernel refuses a size below what the container uses: it is tried again
// until the container uses less, has yet another size, or ends. The ResourceManager says it only once.
func (c *containers) update(ctx context.Context, m *pb.Container) {
	log := c.Log.WithField("container", records.ContainerIDFrom(m.GetId()).String())
	token := m.GetContainerToken()
	id, err := c.Keys.Container(token)
	if err == nil {
		err = c.Service.Update(ctx, id, token.GetIdentifier())
	}
	if err == nil {
		return
	}
	log.WithError(err).Warn("could not change the container's size")
	for errors.Is(err, syscall.EBUSY) {
		select {
		case <-time.After(sizeAgain):
			err = c.Service.Update(ctx, id, token.GetIdentifier())
		case <-ctx.Done():
			return
		}
	}
}

// sizeAgain is the pause before a container's size is tried again.
const sizeAgain = 2 * time.Second
