package heartbeat

import (
	"heddle/nm/shuffle"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Outputs know what maps have left on the node for reducers elsewhere. None of the methods waits for a disk.
type Outputs interface {
	// ContainerEnded makes them look for outputs that a container of an application has left.
	ContainerEnded(app records.ApplicationID)
	// Totals returns up to most applications of which there is more than at a version, and the version up to which that tells.
	Totals(after int64, most int) (list []shuffle.Total, upTo int64)
	// FetchRate returns how fast a reducer fetches from here, in bytes per second; 0: unknown.
	FetchRate() int64
}

// maxOutputs is of how many applications a heartbeat tells what their maps have put out. The next one tells of others.
const maxOutputs = 100

// outputs tells what maps have put out.
type outputs struct {
	Outputs
	told outputsTold
	next outputsTold // once the heartbeat that is under way has been accepted
}

// outputsTold records which outputs the ResourceManager knows.
type outputsTold struct {
	version int64
	rate    int64
}

func (o *outputs) Registered(*pb.RegisterNodeManagerResponse) { o.told = outputsTold{} }

func (o *outputs) Report(req *pb.NodeHeartbeatRequest) {
	list, upTo := o.Totals(o.told.version, maxOutputs)
	if len(list) > 0 {
		out := make([]*pb.MapOutputs, len(list))
		for i, t := range list {
			m := &pb.MapOutputs{}
			m.SetApplicationId(t.App.PB())
			m.SetMaps(t.Maps)
			m.SetBytes(t.Bytes)
			out[i] = m
		}
		req.SetHeddleMapOutputs(out)
	}
	o.next = outputsTold{upTo, o.told.rate}
	if rate := o.FetchRate(); rateDiffers(o.told.rate, rate) {
		req.SetHeddleFetchRate(rate)
		o.next.rate = rate
	}
}

func (o *outputs) Delivered(*pb.NodeHeartbeatResponse) { o.told = o.next }

// rateDiffers reports whether a rate has changed by a tenth, which is worth a word.
func rateDiffers(before, now int64) bool {
	change := max(now-before, before-now)
	return now > 0 && change > 0 && change >= before/10
}
