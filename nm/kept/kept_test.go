package kept

import (
	"encoding/json"
	"io"
	"slices"
	"testing"

	"github.com/sirupsen/logrus"
	"google.golang.org/protobuf/proto"

	"heddle/nm/nmtest"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

func silent() *logrus.Entry {
	l := logrus.New()
	l.Out = io.Discard
	return logrus.NewEntry(l)
}

// tokenOf is the identifier of a container's token.
func tokenOf(id records.ContainerID) []byte {
	t := &pb.ContainerTokenIdentifier{}
	t.SetContainerId(id.PB())
	t.SetAppSubmitter("ann")
	t.SetResource(records.ResourceTypes{}.PB(records.NewResource(256, 1)))
	b, err := proto.Marshal(t)
	if err != nil {
		panic(err)
	}
	return b
}

func numbered(n int64) records.ContainerID {
	return records.ContainerID{Attempt: records.AttemptID{App: records.ApplicationID{ClusterTimestamp: 1, ID: 1}, Attempt: 1}, ID: n}
}

// Whatever lies in the store concerns its container alone, and what was read once is written and read the same.
func FuzzLoad(f *testing.F) {
	id := numbered(1)
	request, err := Request(&pb.ContainerLaunchContext{}, tokenOf(id))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(id.String(), request, []byte(`{"started":1,"keeper":{"pid":5,"start":6},"exit":-1000}`))
	f.Add(id.String(), []byte("\xff\xff"), []byte("{"))
	f.Add(id.String(), request, []byte("{"))
	f.Add("nonsense", []byte{}, []byte(`{"kill":{},"boot":"x","keeper":{"pid":-1,"start":1},"places":{"logs":["/"]}}`))
	f.Add(id.String(), []byte{}, []byte("null"))
	f.Add("container_1_1_1_1", request, []byte("{}"))
	f.Add("container_1_0001_01_000003", request, []byte("{}"))
	f.Fuzz(func(t *testing.T, name string, request, record []byte) {
		other := numbered(2)
		good, err := Request(&pb.ContainerLaunchContext{}, tokenOf(other))
		if err != nil {
			t.Fatal(err)
		}
		s := &nmtest.Store{}
		for key, value := range map[string][]byte{
			other.String() + RequestKey: good, other.String() + RecordKey: []byte("{}"), name + RequestKey: request, name + RecordKey: record,
		} {
			if err := s.Put(key, value); err != nil {
				t.Fatal(err)
			}
		}
		all, err := Load(s, records.ResourceTypes{}, silent())
		if err != nil {
			t.Fatal(err)
		}
		if i := slices.IndexFunc(all, func(c Container) bool { return c.Grant.ID == other }); i < 0 || name != other.String() && all[i].Damage != nil {
			t.Errorf("the other container was hurt: %+v", all)
		}
		if n := s.Len(); n != 2*len(all) {
			t.Errorf("%d records of %d containers", n, len(all))
		}
		for _, c := range all {
			if c.Grant.ID.String() != name && c.Grant.ID != other {
				t.Errorf("the record of %q is that of %s", name, c.Grant.ID)
			}
			if c.Damage != nil {
				continue
			}
			request, err := Request(c.Context, c.Token)
			if err != nil {
				t.Fatal(err)
			}
			again := Container{Grant: c.Grant}
			if err := again.parseRequest(request, records.ResourceTypes{}); err != nil || again.Grant.User != c.Grant.User {
				t.Errorf("read %+v, and then %+v, %v", c, again, err)
			}
			if _, err := json.Marshal(c.Record); err != nil {
				t.Error(err)
			}
		}
	})
}
