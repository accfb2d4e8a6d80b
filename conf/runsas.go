package conf

const linuxExecutor = "org.apache.hadoop.yarn.server.nodemanager.LinuxContainerExecutor"

// ContainerUser is the user of the operating system that containers of a submitter run as; "" if that is the NodeManager's own.
func (c *Config) ContainerUser(submitter string) string {
	const nonsecure = "yarn.nodemanager.linux-container-executor.nonsecure-mode."
	switch {
	case c.Text("yarn.nodemanager.container-executor.class") != linuxExecutor:
		return ""
	case c.Bool(nonsecure + "limit-users"):
		return c.Text(nonsecure + "local-user")
	}
	return submitter
}
