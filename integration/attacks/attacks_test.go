package attacks

import (
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
)

// attacks are what is tried, one after the other.
var attacks = []struct {
	name string
	try  func(*target)
}{
	{"strangers and forged tokens", (*target).forgeries},
	{"tokens of an application that has ended", (*target).deadAttempts},
	{"applications of others", (*target).othersApplications},
	{"forged nodes", (*target).forgedNodes},
	{"strangers at the raft port", (*target).raftPort},
	{"bytes that are no UTF-8", (*target).bytesThatAreNoText},
	{"submissions that are too large", (*target).hugeSubmissions},
	{"a hundred thousand requests", (*target).hugeAsks},
	{"a million containers asked for", (*target).hugeStatusRequests},
	{"garbage at every port", (*target).garbage},
	{"strangers at the ports of a job", (*target).workerPorts},
	{"slow senders", (*target).slowSenders},
	{"slow readers", (*target).slowReaders},
	{"connections by the thousand", (*target).idleConnections},
	{"web pages of others", (*target).foreignPages},
	{"tracking URLs", (*target).trackingURLs},
	{"links for the daemon's logs", (*target).logLinks},
	{"resources of others", (*target).foreignResources},
	{"links in folders of containers", (*target).workFolderLinks},
}

// Nothing gets in, honest jobs go on, and a restart finds everything.
func TestHostilesGetNothing(t *testing.T) { attackAll(newTarget(t, nil)) }

// The same with Kerberos and privacy: hostile users have tickets of their own.
func TestHostilesGetNothingWithKerberos(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	attackAll(newTarget(t, newRealm(t)))
}

func attackAll(x *target) {
	t := x.t
	t.Helper()
	stop := x.jobs()
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			y := x.in(t)
			a.try(y)
			y.unharmed()
		})
	}
	jobs := stop()
	t.Logf("%d honest jobs ran meanwhile", jobs)
	x.memory()

	before := x.applications()
	for _, name := range x.Daemons() {
		x.Kill(name)
	}
	x.start()
	after := x.applications()
	for id := range before {
		if !after[id] {
			t.Errorf("%v is lost after a restart", id)
		}
	}
	if len(before) < jobs {
		t.Errorf("%d applications are listed after %d jobs", len(before), jobs)
	}
	x.job(jobs)
}

// applications are those that the ResourceManager lists.
func (x *target) applications() map[records.ApplicationID]bool {
	x.t.Helper()
	return await.Value(x.t, "applications are listed", func() (map[records.ApplicationID]bool, bool) {
		resp, err := protocol.GetApplications.Call(x.t.Context(), x.as("root"), &pb.GetApplicationsRequest{})
		if err != nil {
			return nil, false
		}
		ids := map[records.ApplicationID]bool{}
		for _, a := range resp.GetApplications() {
			ids[records.ApplicationIDFrom(a.GetApplicationId())] = true
		}
		return ids, true
	})
}
