// MRPT's drivers for Hokuyos on a serial line and for the LMS 1xx as drivers under test: scans as the kit's JSON.
//
//   menura test scanner --rig utm30lx -- flat_mrpt hokuyo TTY
//   menura test scanner --rig lms111 -- flat_mrpt lms100 HOST PORT
//
// The driver is begun anew when it says that it failed, as a supervisor would.

#include <mrpt/hwdrivers/CHokuyoURG.h>
#include <mrpt/hwdrivers/CLMS100eth.h>
#include <mrpt/obs/CObservation2DRangeScan.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <thread>

using mrpt::hwdrivers::C2DRangeFinderAbstract;
using mrpt::obs::CObservation2DRangeScan;

// The LMS 1xx's driver waits 40 ms for an answer, so that one in vain means little.
constexpr int kMostUnanswered = 20;

static void print(const CObservation2DRangeScan& scan)
{
    const std::size_t count = scan.getScanSize();
    const double first = (scan.rightToLeft ? -0.5 : 0.5) * scan.aperture;
    const double step = (scan.rightToLeft ? 1.0 : -1.0) * scan.aperture / (count - 1.0);
    std::printf("{\"event\": \"points\", \"points\": [");
    bool is_first = true;
    // A part will do, and takes less time than all.
    for (std::size_t i = 0; i < count; i += 4) {
        const double angle = first + i * step, range = scan.getScanRange(i);
        if (!scan.getScanRangeValidity(i) || range <= 0.0)
            continue;
        std::printf("%s[%.3f, %.3f, 0.0]", is_first ? "" : ", ", range * std::cos(angle), range * std::sin(angle));
        is_first = false;
    }
    std::puts("]}");
    std::fflush(stdout);
}

static std::unique_ptr<C2DRangeFinderAbstract> opened(const std::string& kind, char** argv)
{
    if (kind == "lms100") {
        auto laser = std::make_unique<mrpt::hwdrivers::CLMS100Eth>(argv[2], std::atoi(argv[3]));
        return laser;
    }
    auto laser = std::make_unique<mrpt::hwdrivers::CHokuyoURG>();
    laser->setSerialPort(argv[2]);
    return laser;
}

static void scan_until_it_fails(const std::string& kind, char** argv)
{
    const auto laser = opened(kind, argv);
    laser->setVerbosityLevel(mrpt::system::LVL_ERROR);
    // Public in the base class only.
    static_cast<mrpt::hwdrivers::CGenericSensor&>(*laser).initialize();
    const int most = kind == "lms100" ? kMostUnanswered : 0;
    for (int unanswered = 0;;) {
        bool there_is_one = false, failed = false;
        CObservation2DRangeScan scan;
        laser->doProcessSimple(there_is_one, scan, failed);
        if (failed && ++unanswered > most)
            throw std::runtime_error("the driver gave up");
        if (!failed && there_is_one && scan.getScanSize() > 1) {
            unanswered = 0;
            print(scan);
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(kind == "lms100" ? 20 : 1));
    }
}

int main(int argc, char** argv)
{
    const std::string kind = argc > 1 ? argv[1] : "";
    if (!(kind == "hokuyo" && argc == 3) && !(kind == "lms100" && argc == 4)) {
        std::fprintf(stderr, "two or three arguments, see the source\n");
        return 2;
    }
    for (;;) {
        try {
            scan_until_it_fails(kind, argv);
        } catch (const std::exception& error) {
            std::fprintf(stderr, "again, after: %s\n", error.what());
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
}
