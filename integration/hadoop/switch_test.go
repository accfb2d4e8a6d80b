package hadoop

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
)

// At the switch, a node that the include list has by its name, and which calls from another address, was told to shut down, and a NodeManager
// of YARN's never comes back from that. It is kept out instead, the log names it, and it joins once the list has its address.
func TestNodesOfForeignAddressesAreKeptOutInsteadOfShutDown(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	if !onHeddle {
		t.Skip("Hadoop's ResourceManager believes the name that a node gives itself")
	}
	for _, kind := range []string{"nm", ""} {
		t.Run(map[string]string{"nm": "YARN's", "": "Heddle's"}[kind], func(t *testing.T) {
			const host = "127.0.0.7"
			include := filepath.Join(t.TempDir(), "include")
			list := func(text string) {
				if err := os.WriteFile(include, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			list(host + "\n127.0.0.1\n")
			l := hadooplab.Start(t, hadooplab.Options{
				ResourceManager: true, NodeManagers: 1, NodeHost: host, Heddle: options.Heddle, Stock: kind,
				Site: map[string]string{
					"yarn.resourcemanager.nodes.include-path": include, "yarn.resourcemanager.connect.retry-interval.ms": "500",
				},
			})
			check := func(says string) {
				t.Helper()
				out, err := exec.CommandContext(t.Context(), options.Heddle, "conf", "check", "--conf", l.Conf(), "--role", "rm",
					"--cluster", fmt.Sprintf("localhost:%d", l.Port("rm-http"))).CombinedOutput()
				if err != nil || !strings.Contains(string(out), says) {
					t.Errorf("%v, want %s\n%s", err, says, out)
				}
			}
			list("elsewhere\n")
			check("node " + host + " of the running cluster isn't admitted by the lists of hosts: it would shut down")
			list(host + "\n")
			check("a node calls from 127.0.0.1, which is no address of a node by the name service: Heddle would keep it out")
			rm := l.Daemon("resourcemanager")
			if err := rm.Restart(); err != nil {
				t.Fatal(err)
			}
			for _, text := range []string{"NodeManager " + host, "is kept out for now", "it called from 127.0.0.1", "rmadmin -refreshNodes"} {
				if err := rm.WaitLog(t.Context(), text); err != nil {
					t.Fatal(err)
				}
			}
			list(host + "\n127.0.0.1\n")
			if out, err := l.Run(t.Context(), "yarn", "rmadmin", "-refreshNodes"); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if err := l.WaitYARN(t.Context(), 1); err != nil { // one that had shut down would not be there
				t.Fatal(err)
			}
			if log := rm.Log(); strings.Contains(log, "Sending SHUTDOWN") {
				t.Errorf("a node was shut down:\n%s", log)
			}
		})
	}
}
