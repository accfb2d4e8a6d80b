package attacks

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"heddle/internal/await"
)

// workerPorts speaks to what listens in containers of honest jobs.
func (x *target) workerPorts() {
	ports := await.Value(x.t, "something listens in a container", func() ([]int, bool) {
		var all []int
		for _, p := range x.Strays() {
			all = append(all, listens(p.PID)...)
		}
		return all, len(all) > 0
	})
	for _, port := range ports {
		for _, path := range []string{"/", "/next", "/done", "/output", "/shuffle", "/mapOutput?map=0&reduce=0", "/../../etc/passwd", "/status"} {
			for _, method := range []string{http.MethodGet, http.MethodPost} {
				req, err := http.NewRequestWithContext(x.t.Context(), method, fmt.Sprintf("http://127.0.0.1:%d%s", port, path), strings.NewReader(strings.Repeat("x", 1<<16)))
				if err != nil {
					x.t.Fatal(err)
				}
				req.Header.Set("Authorization", "forged")
				resp, err := http.DefaultClient.Do(req)
				if err != nil {
					continue // the job is over, or the port speaks something else
				}
				_ = resp.Body.Close()
				if resp.StatusCode == http.StatusOK && path != "/" && path != "/status" {
					x.t.Errorf("port %d of a job answers %s %s from a stranger: %s", port, method, path, resp.Status)
				}
			}
		}
	}
}

// listens are the TCP ports that a process listens on.
func listens(pid int) []int {
	sockets := map[string]bool{}
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		return nil
	}
	for _, f := range files {
		if to, err := os.Readlink(f); err == nil && strings.HasPrefix(to, "socket:[") {
			sockets[strings.Trim(to, "socket:[]")] = true
		}
	}
	var out []int
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		f, err := os.Open(table)
		if err != nil {
			continue
		}
		for in := bufio.NewScanner(f); in.Scan(); {
			const address, state, inode, listening = 1, 3, 9, "0A"
			w := strings.Fields(in.Text())
			if len(w) <= inode || w[state] != listening || !sockets[w[inode]] {
				continue
			}
			if raw, err := hex.DecodeString(w[address][strings.LastIndexByte(w[address], ':')+1:]); err == nil && len(raw) == 2 {
				out = append(out, int(raw[0])<<8|int(raw[1]))
			}
		}
		_ = f.Close()
	}
	return out
}
