package heartbeat

import (
	"heddle/nm/allocation"
	"heddle/nm/container"
	"heddle/nm/service"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// suspensions tells how far the containers are that there were orders for.
func (u *Updater) suspensions() []*pb.ContainerSuspension {
	var out []*pb.ContainerSuspension
	for _, c := range u.o.Containers.Containers() {
		s := c.Status()
		if s.State != container.Done && s.Suspension.Version > 0 {
			out = append(out, service.SuspensionPB(c.ID(), s.Suspension, u.o.Types))
		}
	}
	return out
}

// leastChange is how many bytes a container must use more or less to be worth a word.
const leastChange = 16 << 20

// isNews reports whether the ResourceManager should hear how much memory a container uses: the first figure, as it counts all that the container
// holds until then, and later ones that differ much.
func isNews(told map[records.ContainerID]int64, id records.ContainerID, now int64) bool {
	before, known := told[id]
	change := max(now-before, before-now)
	return !known || change >= leastChange && 4*change >= before
}

// containerMemory adds the memory that containers use, where that is news: the cost of suspending them depends on it. It returns what
// the ResourceManager knows then.
func (u *Updater) containerMemory(req *pb.NodeHeartbeatRequest) map[records.ContainerID]int64 {
	known := make(map[records.ContainerID]int64, len(u.memory))
	var out []*pb.ContainerMemory
	for _, c := range u.o.Containers.Containers() {
		s := c.Status()
		if s.State == container.Done || s.Usage.At.IsZero() || allocation.IsOnLent(c.ID()) {
			continue
		}
		id, now := c.ID(), s.Usage.Physical
		if !isNews(u.memory, id, now) {
			known[id] = u.memory[id]
			continue
		}
		known[id] = now
		m := &pb.ContainerMemory{}
		m.SetContainerId(id.PB())
		m.SetBytes(now)
		out = append(out, m)
	}
	req.SetHeddleContainerMemory(out)
	return known
}

// nodeMemory tells how the node's memory is, or nil where that can't be found out.
func (u *Updater) nodeMemory() *pb.NodeMemory {
	if u.o.Pressure == nil {
		return nil
	}
	p, err := u.o.Pressure()
	if err != nil {
		return nil
	}
	m := &pb.NodeMemory{}
	if p.Some >= 0 {
		m.SetSome(float32(p.Some))
	}
	if out, in := u.o.Containers.Rates(); out > 0 || in > 0 {
		m.SetPageOutRate(out)
		m.SetPageInRate(in)
	}
	if why := p.Refusal(); why != "" {
		m.SetNoReclaim(why)
	}
	return m
}
