// Reads a Velodyne with PCL's grabbers and writes the sweeps they make.
//
//   velodyne_pcl hdl|vlp PORT SOURCE_ADDRESS SOURCE_PORT OUT [CORRECTIONS.xml]
//
// Packets from elsewhere than the source are filtered out by the grabber. See velodyne_driver.h for
// when it ends and what it writes. Frame: x right, y forward, z up.

#include <pcl/io/hdl_grabber.h>
#include <pcl/io/vlp_grabber.h>

#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <thread>

#include "velodyne_driver.h"

int main(int argc, char** argv)
{
    if (argc != 6 && argc != 7) {
        std::fprintf(stderr, "five or six arguments, see the source\n");
        return 2;
    }
    using boost::asio::ip::address;
    const auto number = [&](int index) { return static_cast<std::uint16_t>(std::atoi(argv[index])); };
    try {
        const auto here = address::from_string("127.0.0.1");
        std::unique_ptr<pcl::HDLGrabber> grabber;
        if (std::strcmp(argv[1], "vlp") == 0)
            grabber = std::make_unique<pcl::VLPGrabber>(here, number(2));
        else
            grabber = std::make_unique<pcl::HDLGrabber>(here, number(2), argc == 7 ? argv[6] : "");
        grabber->filterPackets(address::from_string(argv[3]), number(4));
        Cloud cloud;
        std::function<pcl::HDLGrabber::sig_cb_velodyne_hdl_sweep_point_cloud_xyzi> keep =
            [&](const pcl::PointCloud<pcl::PointXYZI>::ConstPtr& sweep) {
                for (const auto& point : *sweep)
                    cloud.add(point.x, point.y, point.z, point.intensity);
                cloud.sweep_ends();
            };
        grabber->registerCallback(keep);
        grabber->start();
        if (!grabber->isRunning()) {
            std::fprintf(stderr, "the grabber does not run\n");
            return 1;
        }
        widen_receive_buffers();
        std::puts("ready");
        std::fflush(stdout);
        while (!told_to_end() || !cloud.is_quiet())
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        cloud.write(argv[5]);
        std::fflush(stdout);
        // stop() would wait for one more packet.
        std::_Exit(0);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
