package secure

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"heddle/integration/browser"
	"heddle/integration/hadooplab"
	"heddle/internal/await"
)

// certificates are the keystores of a cluster on this machine, made by Java's keytool, and the files that name them.
type certificates struct {
	t     *testing.T
	dir   string
	site  map[string]string
	files map[string]string
}

// newCertificates makes them in a format of keytool's.
func newCertificates(t *testing.T, keystore string) *certificates {
	t.Helper()
	c := &certificates{t: t, dir: t.TempDir(), site: map[string]string{"yarn.http.policy": "HTTPS_ONLY"}, files: map[string]string{}}
	if err := os.Chmod(c.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	c.renew(keystore)
	c.file("ssl-server.xml", map[string]string{
		"ssl.server.keystore.location": c.at("server.keystore"), "ssl.server.keystore.password": "storepass", "ssl.server.keystore.type": keystore,
		"ssl.server.keystore.keypassword": "storepass",
		"ssl.server.truststore.location":  c.at("truststore.jks"), "ssl.server.truststore.password": "trustpass",
		"ssl.server.stores.reload.interval": "100",
	})
	c.file("ssl-client.xml", map[string]string{"ssl.client.truststore.location": c.at("truststore.jks"), "ssl.client.truststore.password": "trustpass"})
	return c
}

func (c *certificates) at(name string) string { return filepath.Join(c.dir, name) }

func (c *certificates) file(name string, keys map[string]string) {
	c.t.Helper()
	type property struct {
		Name  string `xml:"name"`
		Value string `xml:"value"`
	}
	var all []property
	for k, v := range keys {
		all = append(all, property{k, v})
	}
	b, err := xml.Marshal(struct {
		XMLName  xml.Name   `xml:"configuration"`
		Property []property `xml:"property"`
	}{Property: all})
	if err != nil {
		c.t.Fatal(err)
	}
	c.files[name] = string(b)
}

// renew makes a new certificate, and has it trusted.
func (c *certificates) renew(keystore string) {
	c.t.Helper()
	keytool := func(args ...string) {
		c.t.Helper()
		if out, err := exec.CommandContext(c.t.Context(), "keytool", args...).CombinedOutput(); err != nil {
			c.t.Fatalf("keytool %q: %v\n%s", args, err, out)
		}
	}
	made := c.at("made.keystore")
	keytool("-genkeypair", "-alias", "web", "-keyalg", "RSA", "-keysize", "2048", "-dname", "CN=localhost", "-ext", "SAN=dns:localhost,ip:127.0.0.1", "-validity", "30",
		"-storetype", keystore, "-keystore", made, "-storepass", "storepass", "-keypass", "storepass")
	keytool("-exportcert", "-rfc", "-alias", "web", "-keystore", made, "-storepass", "storepass", "-file", c.at("certificate.pem"))
	_ = os.Remove(c.at("truststore.jks"))
	keytool("-importcert", "-noprompt", "-alias", "web", "-file", c.at("certificate.pem"), "-keystore", c.at("truststore.jks"), "-storetype", "JKS", "-storepass", "trustpass")
	if err := os.Rename(made, c.at("server.keystore")); err != nil {
		c.t.Fatal(err)
	}
	if err := os.Chmod(c.at("truststore.jks"), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

// certificate is the one that clients should see.
func (c *certificates) certificate() *x509.Certificate {
	c.t.Helper()
	b, err := os.ReadFile(c.at("certificate.pem"))
	if err != nil {
		c.t.Fatal(err)
	}
	block, _ := pem.Decode(b)
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		c.t.Fatal(err)
	}
	return cert
}

// get gets a page from servers that show this certificate, and follows no redirects.
func (c *certificates) get(url string) (status int, location, body string) {
	c.t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(c.certificate())
	client := http.Client{
		Timeout:       20 * time.Second,
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Get(url)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header.Get("Location"), string(b)
}

// shows reports whether the server at a port shows the certificate.
func (c *certificates) shows(port int) bool {
	conn, err := tls.Dial("tcp", fmt.Sprintf("localhost:%d", port), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		return false
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].Equal(c.certificate())
}

// nodeIn finds a node's id in what commands print.
var nodeIn = regexp.MustCompile(`localhost:\d+`)

// Web ports speak HTTPS alone: redirects, links, pages and commands follow. Certificates that change are shown without a restart.
func TestHTTPS(t *testing.T) {
	c := newCertificates(t, "JKS")
	l := hadooplab.Start(t, hadooplab.Options{Files: c.files, ResourceManager: true, ResourceManagers: 3, NodeManagers: 1, Heddle: heddle, Site: c.site})
	leader := 0
	await.Until(t, "a member leads", func() bool {
		for i := 1; i <= 3; i++ {
			if status, _, _ := c.get(fmt.Sprintf("https://localhost:%d/ws/v1/cluster/metrics", l.Port(fmt.Sprintf("rm-http%d", i)))); status == http.StatusOK {
				leader = i
			}
		}
		return leader != 0
	})
	web := l.Port(fmt.Sprintf("rm-http%d", leader))
	follower := l.Port(fmt.Sprintf("rm-http%d", leader%3+1))
	if status, to, _ := c.get(fmt.Sprintf("https://localhost:%d/cluster/apps", follower)); status != http.StatusTemporaryRedirect || to != fmt.Sprintf("https://localhost:%d/cluster/apps", web) {
		t.Errorf("a follower sends to %q (%d)", to, status)
	}
	if resp, err := http.Get(fmt.Sprintf("http://localhost:%d/cluster", web)); err != nil || resp.StatusCode != http.StatusBadRequest {
		t.Errorf("without TLS: %+v, %v", resp, err)
	} else {
		_ = resp.Body.Close()
	}
	for _, args := range [][]string{{"node", "-list", "-showDetails"}, {"queue", "-status", "default"}, {"rmadmin", "-getGroups", "root"}, {"app", "-list"}} {
		if out, err := command(t, l, args...); err != nil {
			t.Errorf("%q: %v\n%s", args, err, out)
		}
	}
	if out, err := exec.CommandContext(t.Context(), heddle, "conf", "check", l.Conf()).CombinedOutput(); err != nil || !strings.Contains(string(out), "0 errors") {
		t.Errorf("conf check: %v\n%s", err, out)
	}
	node := l.Port("nodemanager1-http")
	if _, _, body := c.get(fmt.Sprintf("https://localhost:%d/ws/v1/node/info", node)); !strings.Contains(body, "nodeInfo") {
		t.Errorf("the node says %s", body)
	}
	address := fmt.Sprintf("localhost:%d", node)
	if out, err := command(t, l, "node", "-list", "-all"); err != nil || !strings.Contains(out, address) {
		t.Errorf("heddle node -list doesn't say %s: %v\n%s", address, err, out)
	} else if out, err = command(t, l, "node", "-status", nodeIn.FindString(out)); err != nil || !strings.Contains(out, address) {
		t.Errorf("heddle node -status doesn't say %s: %v\n%s", address, err, out)
	}
	if _, _, body := c.get(fmt.Sprintf("https://localhost:%d/ws/v1/cluster/nodes", web)); !strings.Contains(body, `"nodeHTTPAddress":"`+address+`"`) {
		t.Errorf("nodes in REST: %s", body)
	}
	tab := browser.Open(t, 1000, 700)
	tab.TrustAll()
	tab.Go(fmt.Sprintf("https://localhost:%d/cluster/nodes", web))
	tab.Until(fmt.Sprintf(`document.querySelector('a[href="https://localhost:%d/"]') !== null`, node))
	c.renew("PKCS12")
	for _, port := range []int{web, follower, node} {
		await.Until(t, "the new certificate is shown", func() bool { return c.shows(port) })
	}
}

// Hadoop's commands work with HTTPS and Kerberos on Heddle's daemons: one that asks web ports, too.
func TestStockWithHTTPS(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	r, c := newRealm(t, 10*time.Hour), newCertificates(t, "PKCS12")
	site := maps.Clone(r.site)
	maps.Copy(site, c.site)
	maps.Copy(site, map[string]string{
		"hadoop.http.filter.initializers":               "org.apache.hadoop.security.AuthenticationFilterInitializer",
		"hadoop.http.authentication.type":               "kerberos",
		"hadoop.http.authentication.kerberos.principal": "HTTP/localhost@" + r.Realm,
		"hadoop.http.authentication.kerberos.keytab":    r.site["yarn.nodemanager.keytab"],
		"yarn.nodemanager.env-whitelist":                "PATH,JAVA_HOME,JAVA_TOOL_OPTIONS,HADOOP_CONF_DIR",
		"yarn.resourcemanager.connect.max-wait.ms":      "150000",
	})
	l := hadooplab.Start(t, hadooplab.Options{Files: c.files, ResourceManager: true, NodeManagers: 1, Heddle: heddle, Site: site, Krb5: r.Conf})
	shell, err := l.Jar("hadoop-yarn-applications-distributedshell")
	if err != nil {
		t.Fatal(err)
	}
	job, err := l.Begin("", "class", "org.apache.hadoop.yarn.applications.distributedshell.Client", "-jar", shell,
		"-shell_command", "echo a line of the log; sleep 600", "-num_containers", "1", "-master_memory", "512", "-container_memory", "128")
	if err != nil {
		t.Fatal(err)
	}
	job.EndWith(t)
	app := runningApp(t, l)
	run := func(args ...string) string {
		t.Helper()
		out, err := l.Run(t.Context(), args...)
		if err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
		return out
	}
	await.Slowly(t, "its log is read from the node", func() bool {
		return strings.Contains(run("yarn", "logs", "-applicationId", app), "a line of the log")
	})
	if out, err := command(t, l, "logs", "-applicationId", app); err != nil || !strings.Contains(out, "a line of the log") {
		t.Errorf("heddle logs: %v\n%s", err, out)
	}
	curl := exec.CommandContext(t.Context(), "curl", "-sS", "--cacert", c.at("certificate.pem"), "--negotiate", "-u", ":", "-i", fmt.Sprintf("https://localhost:%d/ws/v1/cluster/apps/%s", l.Port("rm-http"), app))
	if out, err := curl.CombinedOutput(); err != nil || !strings.Contains(string(out), `"user":"alice"`) || !strings.Contains(string(out), "; Secure; HttpOnly") {
		t.Errorf("curl: %v\n%s", err, out)
	}
	address := fmt.Sprintf("localhost:%d", l.Port("nodemanager1-http"))
	list := run("yarn", "node", "-list", "-all")
	if status := run("yarn", "node", "-status", nodeIn.FindString(list)); !strings.Contains(list, address) || !strings.Contains(status, "Node-Http-Address : "+address) {
		t.Errorf("yarn node says\n%s\n%s", list, status)
	}
	logs := exec.CommandContext(t.Context(), "curl", "-sS", "--cacert", c.at("certificate.pem"), "--negotiate", "-u", ":", fmt.Sprintf("https://localhost:%d/ws/v1/cluster/apps/%s", l.Port("rm-http"), app))
	if out, err := logs.CombinedOutput(); err != nil || !strings.Contains(string(out), `"amContainerLogs":"https://`+address+"/node/containerlogs/") {
		t.Errorf("the link to logs: %v\n%s", err, out)
	}
	run("yarn", "application", "-kill", app)
	if out := run("yarn", "application", "-status", app); !strings.Contains(out, fmt.Sprintf("https://localhost:%d/cluster/app/%s", l.Port("rm-http"), app)) {
		t.Errorf("the application's page isn't HTTPS's:\n%s", out)
	}
}

// Hadoop's reduces and those of heddle mr fetch map outputs by TLS from Heddle's nodes, which ask them for certificates.
func TestStockShuffleWithTLS(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	c := newCertificates(t, "JKS")
	c.site["mapreduce.shuffle.ssl.enabled"], c.site["hadoop.ssl.require.client.cert"] = "true", "true"
	c.file("ssl-client.xml", map[string]string{
		"ssl.client.truststore.location": c.at("truststore.jks"), "ssl.client.truststore.password": "trustpass",
		"ssl.client.keystore.location": c.at("server.keystore"), "ssl.client.keystore.password": "storepass", "ssl.client.keystore.keypassword": "storepass",
	})
	l := hadooplab.Start(t, hadooplab.Options{Files: c.files, ResourceManager: true, NodeManagers: 1, Heddle: heddle, Site: c.site})
	examples, err := l.Jar("hadoop-mapreduce-examples")
	if err != nil {
		t.Fatal(err)
	}
	in := filepath.Join(t.TempDir(), "in")
	write(t, in, strings.Repeat("a line of text\n", 1000))
	out, err := l.Run(t.Context(), "hadoop", "jar", examples, "wordcount", in, in+"-out")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got, err := os.ReadFile(in + "-out/part-r-00000")
	if err != nil || !strings.Contains(string(got), "text\t1000\n") {
		t.Errorf("%q, %v", got, err)
	}
	logs, err := l.Run(t.Context(), "yarn", "logs", "-applicationId", submitted.FindString(out))
	if err == nil && strings.Contains(logs, "http://localhost:13562") {
		t.Error("a reduce fetched without TLS")
	}
	sent := func() string {
		_, _, body := c.get(fmt.Sprintf("https://localhost:%d/metrics", l.Port("nodemanager1-http")))
		for line := range strings.Lines(body) {
			if strings.HasPrefix(line, "heddle_nm_shuffle_outputs_total") {
				return line
			}
		}
		return ""
	}
	before := sent()
	if out, err := command(t, l, "mr", "-input", in, "-output", in+"-mr", "-mapper", "cat", "-reducer", "wc -l"); err != nil {
		t.Fatalf("heddle mr: %v\n%s", err, out)
	}
	if after := sent(); before == "" || after == before {
		t.Errorf("heddle mr's reduces didn't fetch from the node: %q, %q", before, after)
	}
}
