package play

import (
	"os"
	"path/filepath"
	"testing"

	"heddle/sim/whatif/load"
)

// What is asked for while no ResourceManager leads is granted when the next one knows a node, as it was then.
func TestNothingIsGrantedWithoutALeader(t *testing.T) {
	const text = `{"heddle-events":8,"heddle":"test","time":1000,"queues":{"keys":{"yarn.resourcemanager.scheduler.class":"fifo"}},"minimum":[1024,1]}
{"op":"addNode","host":"h1","rack":"/r","resource":[8192,8]}
{"op":"addApp","name":"application_1_0001","queue":"root.default","user":"ann","resource":[1024,1]}
{"op":"updateAsks","asks":[{"name":"*","resource":[1024,1],"count":1,"relax":true}]}
{"op":"step","t":1000,"decisions":[{"kind":"allocate","resource":[1024,1],"locality":2}]}
{"op":"identify","attempt":1,"first":1,"am":true,"containers":[0]}
{"op":"step","t":2000}
{"heddle-events":8,"heddle":"test","time":20000,"queues":{"keys":{"yarn.resourcemanager.scheduler.class":"fifo"}},"minimum":[1024,1]}
{"op":"addApp","name":"application_1_0001","queue":"root.default","user":"ann","resource":[1024,1]}
{"op":"addApp","app":1,"name":"application_1_0002","queue":"root.default","user":"ann","resource":[1024,1]}
{"op":"updateAsks","app":1,"asks":[{"name":"*","resource":[1024,1],"count":1,"relax":true}]}
{"op":"step","t":20100}
{"op":"addNode","host":"h1","rack":"/r","resource":[8192,8]}
{"op":"restore","container":0,"resource":[1024,1],"attempt":1,"first":1,"am":true,"since":1000}
{"op":"step","t":21000,"decisions":[{"kind":"allocate","app":1,"container":1,"resource":[1024,1],"locality":2}]}
{"op":"identify","app":1,"attempt":1,"first":1,"am":true,"containers":[1]}
{"op":"step","t":22000}
{"op":"free","container":0}
{"op":"free","container":1}
{"op":"removeApp"}
{"op":"removeApp","app":1}
{"op":"step","t":30000}
`
	file := filepath.Join(t.TempDir(), "events.log")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := load.Open(file, load.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(l, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range l.Apps {
		if then, now := l.Apps[i].Then, r.Apps[i]; then.Granted != now.Granted || then.End != now.End {
			t.Errorf("%s began at %d and ended at %d, played %d and %d", l.Apps[i].ID, then.Granted, then.End, now.Granted, now.End)
		}
	}
	if r.Apps[1].Granted != 21000 {
		t.Errorf("granted at %d", r.Apps[1].Granted)
	}
}
