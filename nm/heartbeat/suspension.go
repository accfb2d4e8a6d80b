package heartbeat

import (
	"heddle/nm/allocation"
	"heddle/nm/container"
	"heddle/nm/service"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// suspension tells how far the containers are that there were orders for, and how the node's memory is.
type suspension struct{ *Options }

func (x *suspension) Report(req *pb.NodeHeartbeatRequest) {
	req.SetHeddleSuspensions(x.levels())
	req.SetHeddleMemory(x.nodeMemory())
}

func (x *suspension) levels() []*pb.ContainerSuspension {
	var out []*pb.ContainerSuspension
	for _, c := range x.Containers.Containers() {
		s := c.Status()
		if s.State != container.Done && s.Suspension.Version > 0 {
			out = append(out, service.SuspensionPB(c.ID(), s.Suspension, x.Types))
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

// memory tells how much memory containers use, where that is news: the cost of suspending them depends on it.
type memory struct {
	*Options
	told map[records.ContainerID]int64 // bytes, as the ResourceManager knows
	next map[records.ContainerID]int64 // as it will know once it has accepted the heartbeat that is under way
}

func (x *memory) Registered(*pb.RegisterNodeManagerResponse) { x.told = nil }

func (x *memory) Report(req *pb.NodeHeartbeatRequest) {
	x.next = make(map[records.ContainerID]int64, len(x.told))
	var out []*pb.ContainerMemory
	for _, c := range x.Containers.Containers() {
		s := c.Status()
		if s.State == container.Done || s.Usage.At.IsZero() || allocation.IsOnLent(c.ID()) {
			continue
		}
		id, now := c.ID(), s.Usage.Physical
		if !isNews(x.told, id, now) {
			x.next[id] = x.told[id]
			continue
		}
		x.next[id] = now
		m := &pb.ContainerMemory{}
		m.SetContainerId(id.PB())
		m.SetBytes(now)
		out = append(out, m)
	}
	req.SetHeddleContainerMemory(out)
}

func (x *memory) Delivered(*pb.NodeHeartbeatResponse) { x.told = x.next }

// nodeMemory tells how the node's memory is, or nil where that can't be found out.
func (x *suspension) nodeMemory() *pb.NodeMemory {
	if x.Pressure == nil {
		return nil
	}
	p, err := x.Pressure()
	if err != nil {
		return nil
	}
	m := &pb.NodeMemory{}
	if p.Some >= 0 {
		m.SetSome(float32(p.Some))
	}
	if out, in := x.Containers.Rates(); out > 0 || in > 0 {
		m.SetPageOutRate(out)
		m.SetPageInRate(in)
	}
	if why := p.Refusal(); why != "" {
		m.SetNoReclaim(why)
	}
	return m
}
