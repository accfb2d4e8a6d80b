// Package stages translates the messages of Heddle's nodes and ApplicationMasters about stages of work, in both directions. Receivers check
// the numbers.
package stages

import (
	"heddle/rm/leader"
	"heddle/rm/leader/hints"
	"heddle/rm/leader/outputs"
	"heddle/rm/leader/speed"
	"heddle/rm/leader/swap"
	"heddle/rm/leader/tries"
	"heddle/rm/ledger/course"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// OutputsFrom returns what a Heddle node tells of the outputs of maps.
func OutputsFrom(list []*pb.MapOutputs) []outputs.OfApp {
	if len(list) == 0 {
		return nil
	}
	out := make([]outputs.OfApp, 0, min(len(list), outputs.MaxPerCall))
	for _, m := range list[:cap(out)] {
		out = append(out, outputs.OfApp{
			App: records.ApplicationIDFrom(m.GetApplicationId()), Amount: outputs.Amount{Maps: m.GetMaps(), Bytes: m.GetBytes()},
		})
	}
	return out
}

// ReportFrom returns what an ApplicationMaster of Heddle's library tells of its stages; nil if there is nothing new.
func ReportFrom(m *pb.StageReport) *leader.StageReport {
	if m == nil {
		return nil
	}
	return &leader.StageReport{
		Outputs:    outputs.Amount{Maps: m.GetMaps(), Bytes: m.GetOutputBytes()},
		Containers: hints.Report{Released: m.GetReleased(), Available: m.GetAvailable()},
		Tasks: scheduler.TaskReport{
			Left: m.GetLeft(), Copies: m.GetCopies(), Young: m.GetYoung(), Detection: m.GetDetection(),
			ToRead: m.GetToRead(), ToMake: m.GetToMake(), Ended: m.GetEnded(), Beta: m.GetBeta(),
		},
	}
}

// TriesFrom returns what such an ApplicationMaster tells of tries of tasks: the newest, if they are too many.
func TriesFrom(list []*pb.TaskTry) []tries.Told {
	list = list[max(0, len(list)-tries.MaxPerCall):]
	if len(list) == 0 {
		return nil
	}
	out := make([]tries.Told, len(list))
	for i, m := range list {
		t := course.Task{
			Container: m.GetContainer(), Reduce: m.GetType() == pb.TaskType_TASK_REDUCE, Index: m.GetIndex(), From: m.GetFrom(), To: m.GetTo(), Fetched: tries.Never,
			Outcome: course.Outcome(m.GetOutcome()), Copy: m.GetCopy(), Remote: m.GetRemote(),
		}
		if m.HasFetched() {
			t.Fetched = m.GetFetched()
		}
		out[i].Task = t
	}
	return out
}

// PerformanceFrom returns how long tasks took on nodes, as such an ApplicationMaster tells.
func PerformanceFrom(list []*pb.NodePerformance) []speed.Report {
	if len(list) == 0 {
		return nil
	}
	out := make([]speed.Report, 0, min(len(list), speed.MaxPerCall))
	for _, m := range list[:cap(out)] {
		kind := speed.Map
		if m.GetType() == pb.TaskType_TASK_REDUCE {
			kind = speed.Reduce
		}
		out = append(out, speed.Report{Host: m.GetHost(), Type: kind, Tasks: m.GetTasks(), Mean: m.GetMean()})
	}
	return out
}

// SwapsFrom returns what such an ApplicationMaster wants done with its containers, so that its own requests get their room.
func SwapsFrom(list []*pb.ContainerSwap) []swap.Wish {
	if len(list) == 0 {
		return nil
	}
	out := make([]swap.Wish, len(list))
	for i, m := range list {
		out[i] = swap.Wish{Container: records.ContainerIDFrom(m.GetContainerId()), Resume: m.GetResume(), Priority: m.GetPriority(), Request: drive.AnyRequest}
		if m.HasAllocationRequestId() {
			out[i].Request = m.GetAllocationRequestId()
		}
	}
	return out
}

// Hint adds to a reply what it tells such an ApplicationMaster of its queue, of nodes, and of containers that can't be suspended.
func Hint(resp *pb.AllocateResponse, reply *leader.AllocateReply) {
	for i := range reply.Unswapped {
		m := &pb.RefusedSwap{}
		m.SetContainerId(reply.Unswapped[i].Container.PB())
		m.SetReason(reply.Unswapped[i].Reason)
		resp.SetHeddleRefusedSwaps(append(resp.GetHeddleRefusedSwaps(), m))
	}
	if h := &reply.Hints; *h != (hints.Hints{}) {
		m := &pb.StageHints{}
		m.SetFrequency(h.Frequency)
		m.SetAvailable(h.Available)
		m.SetJobs(int32(h.Jobs))
		m.SetBandwidth(h.Bandwidth)
		if h.Divides {
			m.SetCopies(h.Copies)
		}
		resp.SetHeddleHints(m)
	}
	if len(reply.Classes) == 0 {
		return
	}
	classes := make([]*pb.NodeLevel, len(reply.Classes))
	for i, l := range reply.Classes {
		classes[i] = &pb.NodeLevel{}
		classes[i].SetHost(l.Host)
		classes[i].SetLevel(l.Class)
	}
	resp.SetHeddleLevels(classes)
}
