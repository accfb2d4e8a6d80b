import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.registry.server.services.MicroZookeeperService;

/** A ZooKeeper for YARN's registry of services. It says where it is, and lives until it is killed. */
public class Registry {
    public static void main(String[] args) throws Exception {
        Configuration conf = new Configuration();
        conf.set("hadoop.registry.zk.service.dir", args[0]);
        MicroZookeeperService registry = new MicroZookeeperService("registry");
        registry.init(conf);
        registry.start();
        System.err.println("REGISTRY " + registry.getConnectionString() + ".");
        Thread.currentThread().join();
    }
}
